//! A batch and a method, driven.

use std::{
    io,
    net::SocketAddr,
    os::fd::BorrowedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    time::Timespec,
};

use crate::{Answer, Asked, Batch, Counts, Finding, Id, Method, Pace, Plan};

/// Questions that are asked before answers are looked at: so many that the cost of looking is
/// shared, so few that answers do not pile up.
const ASKED_AT_ONCE: usize = 64;
/// How often answers are taken before silence is concluded. Each time may bring thousands.
const HEARD_AT_ONCE: usize = 64;

/// Many checks at once on the caller's thread.
///
/// [`add`](Self::add) checks while there is [`room`](Self::room), then repeat:
/// [`turn`](Self::turn), [`next`](Self::next) until there is none, and wait until
/// [`pollable`](Self::pollable) is readable or the time that `turn` returned has come;
/// [`wait`](Self::wait) does that for callers without a loop of their own.
#[derive(Debug)]
pub struct Session<M> {
    batch: Batch,
    method: M,
    started: Instant,
}

impl<M: Method> Session<M> {
    /// A session without checks.
    #[must_use]
    pub fn new(method: M, plan: Plan, pace: Pace) -> Self {
        let batch = Batch::new(method.name(), plan, pace, method.capacity());
        Self { batch, method, started: Instant::now() }
    }

    /// Asks more often than planned where the path loses questions: see [`Batch::insistent`].
    #[must_use]
    pub fn insistent(self) -> Self {
        Self { batch: self.batch.insistent(), ..self }
    }

    /// How many more checks can be added.
    #[must_use]
    pub fn room(&self) -> usize {
        self.batch.room()
    }

    /// Adds a check; `token` comes back with its finding. `false` if there is no room.
    pub fn add(&mut self, target: SocketAddr, token: u64) -> bool {
        self.batch.add(target, token).is_some()
    }

    /// Whether every check that was added is over and its finding taken.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.batch.is_idle()
    }

    /// The next finding, with the token of its check.
    #[allow(clippy::should_implement_trait, reason = "there may be more later")]
    pub fn next(&mut self) -> Option<(u64, Finding)> {
        let concluded = self.batch.poll_finding()?;
        self.method.forget(concluded.id);
        Some((concluded.token, concluded.finding))
    }

    /// Does everything that can be done now. Returns how long to wait, at most, before the next
    /// turn; `None` when there is nothing to wait for but answers or further checks.
    ///
    /// # Errors
    /// When the method can neither ask nor hear any more.
    pub fn turn(&mut self) -> io::Result<Option<Duration>> {
        let mut now = self.started.elapsed();
        loop {
            // What is there already is no silence, however late it is looked at.
            if self.batch.poll_timeout().is_some_and(|due| due <= now) {
                self.hear_all(now)?;
            }
            self.batch.handle_timeout(now);
            let asked = self.ask(now);
            if asked > 0 {
                self.method.flush()?;
            }
            now = self.started.elapsed();
            let batch = &mut self.batch;
            self.method.take_unsent(&mut |id| batch.handle_unsent(id, now));
            self.method.hear(&mut |id, answer| batch.handle_answer(id, answer, now))?;
            if asked < ASKED_AT_ONCE || self.batch.has_findings() {
                break;
            }
        }
        let until = self.batch.poll_timeout();
        Ok(until.map(|until| until.saturating_sub(now)))
    }

    /// Asks about one target and looks once whether the answer is there, as it is where the target
    /// is this host. Otherwise the check goes on as one that was added. For sessions with room for
    /// one check, which is not under way.
    ///
    /// # Errors
    /// When the method can neither ask nor hear any more.
    pub(crate) fn ask_alone(&mut self, target: SocketAddr) -> io::Result<Option<Finding>> {
        /// The only place.
        const ID: Id = Id(0);
        let began = self.started.elapsed();
        let mut answer = match self.method.ask(ID, target, 0) {
            Asked::Answered(answer) => Some(answer),
            Asked::Sent => None,
            Asked::Busy => {
                self.add(target, 0);
                return Ok(None);
            }
        };
        let mut is_sent = true;
        if answer.is_none() {
            self.method.flush()?;
            self.method.take_unsent(&mut |_| is_sent = false);
            self.method.hear(&mut |_, heard| answer = answer.or(Some(heard)))?;
        }
        let Some(Answer { verdict, evidence, .. }) = answer else {
            if is_sent {
                self.batch.add_asked(target, 0, began);
            } else {
                self.add(target, 0);
            }
            return Ok(None);
        };
        self.method.forget(ID);
        let took = self.started.elapsed().saturating_sub(began);
        let method = self.method.name();
        Ok(Some(Finding { target, verdict, evidence, method, attempts: 1, took }))
    }

    /// Waits until there may be something to hear, `at_most` that long; without a bound if `None`.
    ///
    /// # Errors
    /// The system call's error; a signal ends the wait without one.
    pub fn wait(&mut self, at_most: Option<Duration>) -> io::Result<()> {
        if self.batch.has_findings() {
            return Ok(());
        }
        let time = at_most.map(|time| Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        match poll(&mut [PollFd::from_borrowed_fd(self.pollable()?, PollFlags::IN)], time.as_ref())
        {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// What to wait for, in the caller's own loop: readable when a turn may bring something.
    ///
    /// # Errors
    /// `ENOMEM` or `ENOSPC`, where the kernel has no room for another.
    pub fn pollable(&mut self) -> io::Result<BorrowedFd<'_>> {
        self.method.pollable()
    }

    /// What it counted so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.batch.counts()
    }

    /// Questions per second that it allows itself at present.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.batch.per_second()
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &M {
        &self.method
    }

    /// The plan for checks that are not over yet.
    pub fn set_plan(&mut self, plan: Plan) {
        self.batch.set_plan(plan);
    }

    /// Takes answers until there are none left, a bounded number of times.
    fn hear_all(&mut self, now: Duration) -> io::Result<()> {
        for _ in 0..HEARD_AT_ONCE {
            let (batch, mut heard) = (&mut self.batch, 0);
            self.method.hear(&mut |id, answer| {
                heard += 1;
                batch.handle_answer(id, answer, now);
            })?;
            if heard == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Ends the checks that were not asked yet, without a finding. Returns how many.
    pub fn drop_waiting(&mut self) -> usize {
        self.batch.drop_waiting()
    }

    /// Asks what is due, a bounded number; how many it tried.
    fn ask(&mut self, now: Duration) -> usize {
        let mut asked = 0;
        while asked < ASKED_AT_ONCE {
            let Some(transmit) = self.batch.poll_transmit(now) else { break };
            asked += 1;
            match self.method.ask(transmit.id, transmit.target, transmit.attempt) {
                Asked::Sent => {}
                Asked::Answered(answer) => {
                    let now = self.started.elapsed();
                    self.batch.handle_answer(transmit.id, answer, now);
                }
                Asked::Busy => self.batch.handle_busy(transmit.id, now),
            }
        }
        asked
    }
}
