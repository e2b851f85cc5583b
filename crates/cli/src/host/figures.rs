//! What the stacks of all queues have counted, by name.

use std::time::Duration;

use portolan_host::{Readings, stack::tcp::Counters};

/// Counts of all queues together.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub frames_in: u64,
    pub bytes_in: u64,
    pub frames_out: u64,
    pub bytes_out: u64,
    /// Group, name and count, as the stack has them; then those of TCP and of the threads.
    pub counts: Vec<(&'static str, &'static str, u64)>,
    /// How many there are now.
    pub connections: usize,
    pub time_waits: usize,
    pub blocks: usize,
    /// Of each thread.
    pub cpu: Vec<Duration>,
}

impl Figures {
    pub fn of(readings: &[Readings]) -> Self {
        let mut sum = Self::default();
        for one in readings {
            sum.frames_in += one.stack.frames_in;
            sum.bytes_in += one.stack.bytes_in;
            sum.frames_out += one.stack.frames_out;
            sum.bytes_out += one.stack.bytes_out;
            sum.connections += one.connections;
            sum.time_waits += one.time_waits;
            sum.blocks += one.blocks;
            sum.cpu.push(one.cpu);
            let all = one.stack.iter().chain(of_tcp(&one.tcp)).chain(of_threads(one));
            if sum.counts.is_empty() {
                sum.counts = all.collect();
            } else {
                sum.counts.iter_mut().zip(all).for_each(|(sum, (.., count))| sum.2 += count);
            }
        }
        sum
    }

    /// What came since an earlier reading. What there is now stays as it is.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = self.clone();
        since.frames_in -= earlier.frames_in;
        since.bytes_in -= earlier.bytes_in;
        since.frames_out -= earlier.frames_out;
        since.bytes_out -= earlier.bytes_out;
        for (count, (.., before)) in since.counts.iter_mut().zip(&earlier.counts) {
            count.2 -= before;
        }
        for (cpu, before) in since.cpu.iter_mut().zip(&earlier.cpu) {
            *cpu = cpu.saturating_sub(*before);
        }
        since
    }

    /// The count of that name.
    pub fn count(&self, group: &str, name: &str) -> u64 {
        let found = self.counts.iter().find(|(of, is, _)| *of == group && *is == name);
        found.map_or(0, |(.., count)| *count)
    }

    /// The counts of a group that are not 0.
    pub fn group(&self, group: &str) -> impl Iterator<Item = (&'static str, u64)> {
        let here = self.counts.iter().filter(move |(of, _, count)| *of == group && *count > 0);
        here.map(|(_, name, count)| (*name, *count))
    }

    pub fn cpu_total(&self) -> Duration {
        self.cpu.iter().sum()
    }
}

fn of_threads(one: &Readings) -> [(&'static str, &'static str, u64); 4] {
    [
        ("queues", "handed_over", one.handed_over),
        ("queues", "handed_lost", one.handed_lost),
        ("queues", "refused", one.refused),
        ("queues", "link_down", one.link_down),
    ]
}

/// Each field by its name.
macro_rules! tcp {
    ($of:ident: $($field:ident)*) => { [$(("tcp", stringify!($field), $of.$field)),*] };
}

fn of_tcp(of: &Counters) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
    tcp!(of: segments_received segments_sent segments_retransmitted malformed checksum_wrong
        active_opened passive_opened open_failed aborted resets_sent resets_received blind_refused
        challenges_sent challenges_held_back out_of_window timestamp_old backlog_full cookies_sent
        cookies_accepted cookies_wrong accept_queue_full out_of_order duplicates no_buffer
        early_discarded replies_dropped connections_full time_waits_full timeouts tail_probes
        recoveries spurious window_probes keepalives errors_refused)
    .into_iter()
}

#[cfg(test)]
mod tests;
