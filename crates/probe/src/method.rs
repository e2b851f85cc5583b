//! What every way of asking has in common.

use std::{fmt, io, net::SocketAddr, os::fd::BorrowedFd};

use crate::{Evidence, MethodName, Verdict};

/// A check under way: its place in the batch that it belongs to. A place is used again once its
/// check is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(pub u32);

/// What came back about a check, as a method understood it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What follows from it.
    pub verdict: Verdict,
    /// What it was.
    pub evidence: Evidence,
    /// Which of the questions it answers, the first being 0; `None` where that cannot be told.
    pub attempt: Option<u8>,
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It is under way; an answer may be heard later.
    Sent,
    /// It was answered at once.
    Answered(Answer),
    /// Nothing was sent, for lack of buffers, ports or descriptors that others will give back:
    /// ask again a little later.
    Busy,
}

/// What came that was no answer, and what could not be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noise {
    /// Packets about none of the checks under way: second answers, mostly.
    pub foreign: u64,
    /// Packets that claim to answer a SYN that their sender has not seen, or that were damaged.
    pub forged: u64,
    /// Packets that the kernel had no room for.
    pub overflowed: u64,
}

/// A way of asking whether a port is open.
///
/// Call [`ask`](Self::ask) for each question that a plan wants, [`flush`](Self::flush) when there
/// are no more for the moment, [`hear`](Self::hear) whenever the descriptor is readable (or at any
/// time), and [`forget`](Self::forget) when a check is over.
pub trait Method: fmt::Debug {
    /// Which method it is.
    fn name(&self) -> MethodName;

    /// How many checks it can have under way at once.
    fn capacity(&self) -> usize;

    /// Asks about `target`; `attempt` is 0 for the first time and counts up when it asks again.
    /// What was asked before stays valid: an answer to any of the questions counts.
    fn ask(&mut self, id: Id, target: SocketAddr, attempt: u8) -> Asked;

    /// Sends what [`ask`](Self::ask) may have kept to send together.
    ///
    /// # Errors
    /// When nothing can be sent any more; trouble with a single target is its answer.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Hands over the checks whose last question was taken in and could not be sent, for lack of
    /// room that will come back: it is to be asked again.
    fn take_unsent(&mut self, each: &mut dyn FnMut(Id)) {
        let _nothing_is_kept = each;
    }

    /// Hands over what came, without waiting. A check may be answered more than once; only
    /// checks that were asked about and not forgotten are.
    ///
    /// # Errors
    /// When nothing can be heard any more.
    fn hear(&mut self, each: &mut dyn FnMut(Id, Answer)) -> io::Result<()>;

    /// The check is over: frees what it holds. Afterwards its `id` may be used for another.
    fn forget(&mut self, id: Id);

    /// What came that was no answer so far.
    fn noise(&self) -> Noise {
        Noise::default()
    }

    /// What to wait for: readable when [`hear`](Self::hear) has something to hand over. It is the
    /// same each time; asked for only where somebody waits, as answers of this host come at once.
    ///
    /// # Errors
    /// `ENOMEM` or `ENOSPC`, where the kernel has no room for another.
    fn pollable(&mut self) -> io::Result<BorrowedFd<'_>>;
}
