//! `Process`: the metrics that every program exposes under the same names, `process_*`. On systems
//! other than Linux only the start time is there.

use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::families::{Encoded, Families};

/// This process, for one scrape.
#[derive(Debug)]
pub(super) struct Process {
    /// The time since the server started.
    pub(super) uptime: Duration,
}

impl Collector for Process {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Encoded {
        let families = &mut Families(encoder);
        let now = crate::wall_clock::now().as_duration().as_secs_f64();
        let started = now - self.uptime.as_secs_f64();
        let help = "when the process started, in seconds since 1970";
        families.gauge("process_start_time_seconds", help, started)?;
        #[cfg(target_os = "linux")]
        linux::encode(families)?;
        Ok(())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use procfs::process::{LimitValue, Process};
    use procfs::{WithCurrentSystemInfo as _, ticks_per_second};

    use crate::ops::metrics::families::{Encoded, Families};

    pub(super) fn encode(families: &mut Families<'_>) -> Encoded {
        let Ok(process) = Process::myself() else {
            return Ok(());
        };
        if let Ok(stat) = process.stat() {
            let ticks = ticks_per_second().max(1);
            let milliseconds = (stat.utime + stat.stime).saturating_mul(1000) / ticks;
            let help = "CPU time used, of the process and the system for it, in seconds";
            families.counter_of_seconds("process_cpu_seconds", help, milliseconds)?;
            let resident = stat.rss_bytes().get();
            families.amount("process_resident_memory_bytes", "memory in use", resident)?;
            let help = "address space in use, which is not memory";
            families.amount("process_virtual_memory_bytes", help, stat.vsize)?;
            let threads = u64::try_from(stat.num_threads).unwrap_or_default();
            families.amount("process_threads", "threads", threads)?;
        }
        if let Ok(open) = process.fd_count() {
            let help = "open files, with connections";
            families.amount("process_open_fds", help, open as u64)?;
        }
        if let Ok(limits) = process.limits()
            && let LimitValue::Value(max) = limits.max_open_files.soft_limit
        {
            families.amount("process_max_fds", "how many files may be open", max)?;
        }
        Ok(())
    }
}
