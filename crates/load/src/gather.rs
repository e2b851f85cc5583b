//! Puts together what workers say, those of this process or of several: without clock and sockets.
//!
//! Each worker says that it is ready, then (in mode `hold`) that all of its connections are open,
//! then what happened in each interval, and at its end what is left. The order of what different
//! workers say does not matter.

use std::{collections::VecDeque, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Interval, TargetCounts,
    schedule::Schedule,
    summary::{PortsUsed, VERSION},
    times::{Measured, SparseMeasured},
};

/// What a worker says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Message {
    /// Its persistent connections are established, or failed to be: it waits for the begin.
    Ready,
    /// All connections that it holds are open, or failed to be: so many are.
    Held(u64),
    /// What happened since it last said so.
    Part(Box<Part>),
    /// It is done.
    Ended(Box<Ended>),
    /// It could not go on, and why.
    Failed(String),
}

/// What one worker did within one interval, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Of the interval.
    pub(crate) nth: u64,
    /// When the interval began, and how long it was so far.
    pub(crate) begin: Duration,
    pub(crate) length: Duration,
    pub(crate) is_warm_up: bool,
    /// The worker says no more of this interval.
    pub(crate) is_last: bool,
    pub(crate) started: u64,
    pub(crate) completed: u64,
    pub(crate) cpu_us: u64,
    pub(crate) cpu_wait_us: u64,
    pub(crate) counts: TargetCounts,
    pub(crate) measured: SparseMeasured,
}

/// What one worker did besides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// The interval in which it ended.
    pub(crate) nth: u64,
    /// Of the whole run.
    pub(crate) targets: Vec<TargetCounts>,
    /// From the begin until the last start or completion.
    pub(crate) took: Duration,
    pub(crate) ports_skipped: u64,
    pub(crate) source_ports: Option<PortsUsed>,
    /// Starts that had to wait for a connection.
    pub(crate) waited: u64,
    /// Connections that proved to be alive at the end of mode `hold`.
    pub(crate) verified: u64,
    /// Parts of the time from begin to end in which it ran, and in which it could have.
    pub(crate) busy: f64,
    pub(crate) delayed: f64,
    /// Of its process, from one worker of it: the most memory that was resident.
    pub(crate) peak_kib: u64,
}

/// What follows from a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum News {
    /// All workers are ready: the run can begin.
    AllReady,
    /// All connections are open, or failed to be.
    AllHeld,
    /// All workers have said what they did in the interval.
    Interval(Box<(Interval, Measured)>),
    /// All workers have ended.
    AllEnded,
}

/// The sum of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Total {
    pub(crate) targets: Vec<TargetCounts>,
    /// Without the warm-up.
    pub(crate) measured: Measured,
    pub(crate) started: u64,
    pub(crate) completed: u64,
    pub(crate) completed_in_warm_up: u64,
    pub(crate) cpu_us: u64,
    pub(crate) cpu_wait_us: u64,
    pub(crate) took: Duration,
    pub(crate) ports_skipped: u64,
    pub(crate) source_ports: Option<PortsUsed>,
    pub(crate) waited: u64,
    pub(crate) held: u64,
    pub(crate) verified: u64,
    /// Of the worker that ran, and of the one that waited for a processor, the most.
    pub(crate) busy: f64,
    pub(crate) delayed: f64,
    /// Of all processes.
    pub(crate) peak_kib: u64,
}

#[derive(Debug)]
pub(crate) struct Gather {
    schedule: Schedule,
    workers: usize,
    ready: usize,
    held: usize,
    /// The last intervals of those that have ended.
    ended: Vec<u64>,
    /// The first of them is the one numbered `next`.
    intervals: VecDeque<Merged>,
    next: u64,
    /// Of the intervals that are complete.
    counts: TargetCounts,
    total: Total,
}

#[derive(Debug, Default)]
struct Merged {
    /// So many workers have said all of it.
    said: usize,
    part: Part,
    measured: Measured,
}

/// No interval is so far ahead of the one that is waited for.
const AHEAD_MAX: u64 = 1 << 20;

impl Gather {
    /// For so many workers and targets.
    pub(crate) fn new(schedule: Schedule, workers: usize, targets: usize) -> Self {
        let targets = vec![TargetCounts::default(); targets];
        let total = Total { targets, ..Total::default() };
        Self {
            schedule,
            workers,
            ready: 0,
            held: 0,
            ended: Vec::with_capacity(workers),
            intervals: VecDeque::new(),
            next: 0,
            counts: TargetCounts::default(),
            total,
        }
    }

    /// Takes what a worker says.
    ///
    /// # Errors
    /// Why a worker failed.
    pub(crate) fn handle(&mut self, message: Message) -> Result<Vec<News>, String> {
        let mut news = Vec::new();
        match message {
            Message::Ready => {
                self.ready += 1;
                if self.ready == self.workers {
                    news.push(News::AllReady);
                }
            }
            Message::Held(open) => {
                self.held += 1;
                self.total.held += open;
                if self.held == self.workers {
                    news.push(News::AllHeld);
                }
            }
            Message::Part(part) => {
                self.add(*part)?;
                self.complete(&mut news);
            }
            Message::Ended(ended) => {
                self.end(&ended);
                self.complete(&mut news);
                if self.ended.len() == self.workers {
                    news.push(News::AllEnded);
                }
            }
            Message::Failed(why) => return Err(why),
        }
        Ok(news)
    }

    /// The sum, once all have ended.
    pub(crate) fn total(self) -> Total {
        self.total
    }

    fn add(&mut self, part: Part) -> Result<(), String> {
        let ahead = part.nth.checked_sub(self.next).filter(|&ahead| ahead < AHEAD_MAX);
        let at = ahead.and_then(|ahead| usize::try_from(ahead).ok());
        let Some(at) = at else {
            return Err("a worker spoke of an interval that is over".to_owned());
        };
        while self.intervals.len() <= at {
            self.intervals.push_back(Merged::default());
        }
        let merged = &mut self.intervals[at];
        merged.said += usize::from(part.is_last);
        let sum = &mut merged.part;
        (sum.nth, sum.begin) = (part.nth, part.begin);
        sum.length = sum.length.max(part.length);
        // What happened before the begin is not part of any warm-up.
        sum.is_warm_up |= part.is_warm_up;
        sum.started += part.started;
        sum.completed += part.completed;
        sum.cpu_us += part.cpu_us;
        sum.cpu_wait_us += part.cpu_wait_us;
        sum.counts += part.counts;
        merged.measured.add_sparse(&part.measured);
        let total = &mut self.total;
        total.started += part.started;
        total.completed += part.completed;
        total.cpu_us += part.cpu_us;
        total.cpu_wait_us += part.cpu_wait_us;
        if part.is_warm_up {
            total.completed_in_warm_up += part.completed;
        } else {
            total.measured.add_sparse(&part.measured);
        }
        Ok(())
    }

    fn end(&mut self, ended: &Ended) {
        self.ended.push(ended.nth);
        let total = &mut self.total;
        for (sum, counts) in total.targets.iter_mut().zip(&ended.targets) {
            *sum += *counts;
        }
        total.took = total.took.max(ended.took);
        total.ports_skipped += ended.ports_skipped;
        match (&mut total.source_ports, &ended.source_ports) {
            (Some(sum), Some(ports)) => sum.add(ports),
            (sum, ports) => *sum = ports.clone(),
        }
        total.waited += ended.waited;
        total.verified += ended.verified;
        total.peak_kib += ended.peak_kib;
        total.busy = total.busy.max(ended.busy);
        total.delayed = total.delayed.max(ended.delayed);
    }

    fn complete(&mut self, news: &mut Vec<News>) {
        while let Some(first) = self.intervals.front() {
            let over = self.ended.iter().filter(|&&last| last < self.next).count();
            if first.said + over < self.workers {
                return;
            }
            let Some(merged) = self.intervals.pop_front() else { return };
            self.next += 1;
            news.push(News::Interval(Box::new(self.interval(merged))));
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "rates")]
    fn interval(&mut self, merged: Merged) -> (Interval, Measured) {
        let Merged { part, measured, .. } = merged;
        self.counts += part.counts;
        let seconds = part.length.as_secs_f64();
        let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        let due = self.schedule.due(part.begin, part.begin + part.length);
        let interval = Interval {
            version: VERSION,
            kind: "interval".to_owned(),
            nth: part.nth,
            begin_seconds: part.begin.as_secs_f64(),
            seconds,
            is_warm_up: part.is_warm_up,
            asked_per_second: due.map(per_second),
            started: part.started,
            completed: part.completed,
            completed_per_second: per_second(part.completed as f64),
            open: self.counts.open(),
            cpu_us: part.cpu_us,
            cpu_wait_us: part.cpu_wait_us,
            connect_ns: measured.connect.latency(),
            first_byte_ns: measured.first_byte.latency(),
            request_ns: measured.request.latency(),
            service_ns: measured.service.latency(),
            lateness_ns: measured.lateness.latency(),
            total: part.counts,
        };
        (interval, measured)
    }
}

#[cfg(test)]
mod tests;
