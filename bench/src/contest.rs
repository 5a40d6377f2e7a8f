//! `Contest`: servers beside each other under the same load, in short alternating slices.
//!
//! All servers of a contest run all the time, and wait while it is another's turn. A ratio is
//! taken inside a round, and the median of the rounds counts: the machine's moods last longer
//! than a round. Beside the rate stands the server's own CPU time for an answer, which says more
//! where the load is what limits.

use std::time::Duration;

use crate::cpu;
use crate::load::Tally;
use crate::median;

/// A round in which others use more of a core than this is run again.
const OTHERS_MAX: f64 = 0.12;
/// How often a round is run again.
const REPEATS_MAX: usize = 3;

/// A server under load.
pub(crate) struct Case<'a> {
    name: String,
    process: u32,
    /// Puts it under load for so long.
    load: Box<dyn FnMut(Duration) -> Tally + 'a>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(name: &str, process: u32, load: impl FnMut(Duration) -> Tally + 'a) -> Self {
        Self {
            name: name.to_owned(),
            process,
            load: Box::new(load),
        }
    }
}

/// What the second server must reach beside the first one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    rate_min: f64,
    cpu_max: Option<f64>,
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Length {
    pub(crate) rounds: usize,
    pub(crate) slice: Duration,
}

/// What one slice gave.
pub(crate) struct Slice {
    pub(crate) tally: Tally,
    pub(crate) server_cpu: Duration,
    /// What all other processes used, as a share of a core.
    others: f64,
}

impl Slice {
    pub(crate) fn rate(&self) -> f64 {
        as_f64(self.tally.answers) / self.tally.wall.as_secs_f64()
    }

    /// CPU time of the server for an answer, in microseconds.
    pub(crate) fn cpu_us(&self) -> f64 {
        self.server_cpu.as_secs_f64() * 1e6 / as_f64(self.tally.answers)
    }

    pub(crate) fn wait_us(&self, quantile: f64) -> f64 {
        as_f64(self.tally.waits_ns.value_at_quantile(quantile)) / 1e3
    }

    fn of_a_core(&self, time: Duration) -> f64 {
        100.0 * time.as_secs_f64() / self.tally.wall.as_secs_f64()
    }
}

/// The slices of each server, one a round.
pub(crate) struct Outcome {
    pub(crate) servers: Vec<(String, Vec<Slice>)>,
    /// Rounds that were run again, and those that were noisy all the same.
    repeated: usize,
    noisy: usize,
}

/// Runs every server in turn, again and again; every second round the other way round.
pub(crate) fn run(mut cases: Vec<Case<'_>>, length: Length) -> Outcome {
    let names = cases.iter().map(|case| (case.name.clone(), Vec::new()));
    let mut outcome = Outcome {
        servers: names.collect(),
        repeated: 0,
        noisy: 0,
    };
    // The first slice of each warms it up, and is thrown away.
    for case in &mut cases {
        drop(slice(case, length.slice.min(Duration::from_secs(1))));
    }
    for round in 0..length.rounds {
        let mut slices = one_round(&mut cases, length, round);
        for _ in 0..REPEATS_MAX {
            if !is_noisy(&slices) {
                break;
            }
            outcome.repeated += 1;
            slices = one_round(&mut cases, length, round);
        }
        outcome.noisy += usize::from(is_noisy(&slices));
        for ((_, all), slice) in outcome.servers.iter_mut().zip(slices) {
            all.push(slice);
        }
    }
    outcome
}

fn one_round(cases: &mut [Case<'_>], length: Length, round: usize) -> Vec<Slice> {
    let is_reversed = round % 2 == 1;
    if is_reversed {
        let slices = cases.iter_mut().rev().map(|case| slice(case, length.slice));
        let mut slices: Vec<_> = slices.collect();
        slices.reverse();
        return slices;
    }
    cases
        .iter_mut()
        .map(|case| slice(case, length.slice))
        .collect()
}

fn is_noisy(slices: &[Slice]) -> bool {
    slices.iter().any(|slice| slice.others > OTHERS_MAX)
}

fn slice(case: &mut Case<'_>, time: Duration) -> Slice {
    let (server, machine) = (cpu::of(case.process), cpu::of_machine());
    let tally = (case.load)(time);
    let server_cpu = cpu::of(case.process).saturating_sub(server);
    let machine = cpu::of_machine().saturating_sub(machine);
    let others = machine.saturating_sub(server_cpu + tally.load_cpu);
    Slice {
        others: others.as_secs_f64() / tally.wall.as_secs_f64(),
        server_cpu,
        tally,
    }
}

impl Outcome {
    pub(crate) fn print_head() {
        println!(
            "| work | server | answers/s | middle half | beside | server CPU us | beside \
             | p50 us | p99 us | server CPU % | load CPU % | must reach | reached |"
        );
        println!("|{}", " --- |".repeat(13));
    }

    /// One line for each server, with its ratios to the first.
    pub(crate) fn print(&self, work: &str, goal: Option<Goal>) {
        for (number, (name, slices)) in self.servers.iter().enumerate() {
            let of = |figure: &dyn Fn(&Slice) -> f64| median(slices.iter().map(figure).collect());
            let (rate, cpu) = (
                self.ratio(number, Slice::rate),
                self.ratio(number, Slice::cpu_us),
            );
            let goal = goal.filter(|_| number > 0);
            let (must, reached) = goal.map(|goal| goal.compare(rate, cpu)).unwrap_or_default();
            println!(
                "| {work} | {name} | {:.0} | {} | {rate:.2} | {:.3} | {cpu:.2} | {:.0} | {:.0} \
                 | {:.0} | {:.0} | {must} | {reached} |",
                of(&Slice::rate),
                middle_half(slices),
                of(&Slice::cpu_us),
                of(&|slice| slice.wait_us(0.5)),
                of(&|slice| slice.wait_us(0.99)),
                of(&|slice| slice.of_a_core(slice.server_cpu)),
                of(&|slice| slice.of_a_core(slice.tally.load_cpu)),
            );
        }
        self.print_noise(work);
    }

    /// On stderr, so that a table on stdout stays one.
    pub(crate) fn print_noise(&self, work: &str) {
        let Self {
            repeated, noisy, ..
        } = self;
        if *repeated > 0 {
            eprintln!(
                "{work}: {repeated} rounds run again because others used more than {:.0} % of a \
                 core; {noisy} counted all the same",
                OTHERS_MAX * 100.0
            );
        }
    }

    /// The median of a server's figure beside the first one's of the same round.
    pub(crate) fn ratio(&self, number: usize, figure: impl Fn(&Slice) -> f64) -> f64 {
        let pairs = self.servers[number].1.iter().zip(&self.servers[0].1);
        median(
            pairs
                .map(|(own, first)| figure(own) / figure(first))
                .collect(),
        )
    }
}

impl Goal {
    /// The least rate and the most CPU time for an answer.
    pub(crate) const fn both(rate_min: f64, cpu_max: f64) -> Self {
        Self {
            rate_min,
            cpu_max: Some(cpu_max),
        }
    }

    pub(crate) const fn rate(rate_min: f64) -> Self {
        Self {
            rate_min,
            cpu_max: None,
        }
    }

    /// What must be reached, and whether it is.
    fn compare(self, rate: f64, cpu: f64) -> (String, String) {
        let mut must = vec![format!("rate >= {}", self.rate_min)];
        let mut reached = vec![yes_or_no(rate >= self.rate_min)];
        if let Some(cpu_max) = self.cpu_max {
            must.push(format!("CPU <= {cpu_max}"));
            reached.push(yes_or_no(cpu <= cpu_max));
        }
        (must.join(", "), reached.join(", "))
    }
}

pub(crate) fn yes_or_no(is_reached: bool) -> &'static str {
    if is_reached { "yes" } else { "**no**" }
}

fn middle_half(slices: &[Slice]) -> String {
    let mut rates: Vec<f64> = slices.iter().map(Slice::rate).collect();
    rates.sort_by(f64::total_cmp);
    let at = |quarters: usize| rates[(rates.len() * quarters / 4).min(rates.len() - 1)];
    format!("{:.0}-{:.0}", at(1), at(3))
}

#[expect(clippy::cast_precision_loss, reason = "a figure needs no 53 bits")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}
