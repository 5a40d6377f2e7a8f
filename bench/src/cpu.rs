//! CPU time: of processes by their threads' own account, and of the whole machine.

use std::fs;
use std::time::Duration;

/// What a process has used, all threads that live together.
///
/// `/proc/PID/task/TID/schedstat` begins with the nanoseconds on a core; `stat` counts ticks.
pub(crate) fn of(process: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{process}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// What children of this process used that have ended and been waited for.
pub(crate) fn of_ended_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux says so");
    // "pid (name) state ...": the sixteenth and seventeenth are theirs.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks = fields.split(' ').skip(13).take(2);
    ticks_to_time(ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum())
}

/// What all cores have spent on anything at all.
pub(crate) fn of_machine() -> Duration {
    let stat = fs::read_to_string("/proc/stat").expect("Linux says so");
    let line = stat.lines().next().unwrap_or_default();
    let fields: Vec<u64> = line
        .split_ascii_whitespace()
        .filter_map(|field| field.parse().ok())
        .collect();
    // user, nice, system, idle, iowait, irq, softirq; then what the host took, which is not ours.
    let busy = [0, 1, 2, 5, 6].map(|at| fields.get(at).copied().unwrap_or(0));
    ticks_to_time(busy.iter().sum())
}

/// The kernel counts in hundredths of a second towards programs, on every machine of today.
fn ticks_to_time(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 10)
}

/// The memory of a process that is in use, in KiB.
pub(crate) fn resident_kib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    resident
        .and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok())
        .expect("the process runs, and Linux says so")
}
