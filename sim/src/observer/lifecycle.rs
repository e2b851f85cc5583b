//! Which states a connection may go through: RFC 9293, section 3.3.2, figure 5.

use portolan_stack::Instant;

use super::end::Broken;
use crate::host::{
    Numbers,
    State::{self, *},
};

/// What may have moved a connection on since the last look at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cause(u16);

impl Cause {
    /// Nothing but what the stack had to send.
    pub const SENDING: Self = Self(0);
    /// The program opened it.
    pub const OPEN: Self = Self(0x01);
    /// The program said that it sends nothing more, now or before.
    pub const CLOSE: Self = Self(0x02);
    /// The program gave it up.
    pub const ABORT: Self = Self(0x04);
    /// Time went by.
    pub const TIME: Self = Self(0x08);
    /// A segment with SYN arrived.
    pub const SYN: Self = Self(0x10);
    /// A segment with ACK arrived.
    pub const ACK: Self = Self(0x20);
    /// A segment with FIN arrived, now or before.
    pub const FIN: Self = Self(0x40);
    /// A segment with RST arrived.
    pub const RST: Self = Self(0x80);
    /// A segment with data arrived.
    pub const DATA: Self = Self(0x100);
    /// A segment arrived that brings a number back which this end has sent with SYN.
    pub const COOKIE: Self = Self(0x200);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a segment with ACK arrived, and nothing else that ends a connection.
    pub(super) const fn is_acknowledgment(self) -> bool {
        let others = Self::RST.and(Self::TIME).and(Self::ABORT);
        self.contains(Self::ACK) && self.0 & others.0 == 0
    }

    const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The states of one end, as its host tells them after each step.
#[derive(Debug, Default)]
pub(super) struct Lifecycle {
    last: Option<Numbers>,
    /// What counts for longer than one step: CLOSE and FIN.
    lasting: Cause,
    /// When it came to its state.
    since: Instant,
}

/// A change that was seen.
pub(super) type Change = (Option<Numbers>, Option<Numbers>);

impl Lifecycle {
    /// The connection stands so; none where there is none. The change, if there is one.
    pub fn step(
        &mut self,
        now: Option<Numbers>,
        cause: Cause,
        at: Instant,
    ) -> Result<Option<Change>, Broken> {
        let before = std::mem::replace(&mut self.last, now);
        let cause = cause.and(self.lasting);
        self.lasting = Cause(cause.0 & (Cause::CLOSE.0 | Cause::FIN.0));
        if before == now {
            return Ok(None);
        }
        let of = |numbers: Option<Numbers>| numbers.map_or(Closed, |numbers| numbers.state);
        let (from, to) = (of(before), of(now));
        if to == Closed || from == TimeWait {
            self.lasting = Cause::default();
        }
        if from != to && !is_legal(from, to, cause) {
            return Err(("state", format!("{from:?} to {to:?} by {cause:?}")));
        }
        if from != to && to != Closed {
            self.since = at;
        }
        // What TIME-WAIT goes to is another connection.
        if let (Some(before), Some(now)) = (before, now)
            && (from != TimeWait || to == TimeWait)
        {
            keeps_numbers(&before, &now)?;
        }
        if let Some(now) = now.filter(|now| now.snd_una.after(now.snd_nxt)) {
            let what = format!("SND.UNA {} is beyond SND.NXT {}", now.snd_una, now.snd_nxt);
            return Err(("numbers", what));
        }
        Ok(Some((before, now)))
    }

    /// When it came to its state, or to its last one if it is over.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// Whether there is a connection.
    pub fn is_there(&self) -> bool {
        self.last.is_some()
    }
}

/// No number of a connection goes back, nor does the end of a window that was offered.
fn keeps_numbers(before: &Numbers, now: &Numbers) -> Result<(), Broken> {
    let back = |name: &str| Err(("numbers", format!("{name} goes back: {before:?}, {now:?}")));
    if now.snd_una.before(before.snd_una) {
        return back("SND.UNA");
    }
    if now.snd_nxt.before(before.snd_nxt) {
        return back("SND.NXT");
    }
    if before.state == SynSent {
        return Ok(());
    }
    if now.rcv_nxt.before(before.rcv_nxt) {
        return back("RCV.NXT");
    }
    let edge = |numbers: &Numbers| numbers.rcv_nxt + numbers.rcv_wnd;
    if now.state != TimeWait && edge(now).before(edge(before)) {
        return back("the edge of the window");
    }
    Ok(())
}

/// Whether these causes together lead from the one state to the other, perhaps through more: one
/// segment may end the handshake and bring FIN. The own FIN leaves before that or after it.
fn is_legal(from: State, to: State, cause: Cause) -> bool {
    let edges =
        |reached: u16, of_sending: bool| {
            let usable = EDGES.iter().filter(move |&&(here, _, needs)| {
                // What is over does not begin again by what has ended it.
                let is_begun = here != Closed || from == Closed;
                let is_of_sending = needs == Cause::CLOSE;
                is_begun && is_of_sending == of_sending && cause.contains(needs)
            });
            usable.fold(reached, |reached, &(here, there, _)| {
                if reached & bit(here) == 0 { reached } else { reached | bit(there) }
            })
        };
    let mut reached = edges(bit(from), true);
    loop {
        let next = edges(reached, false);
        if next == reached {
            return reached & bit(to) != 0;
        }
        reached = next;
    }
}

fn bit(state: State) -> u16 {
    1 << state as u16
}

/// Figure 5, with LISTEN and CLOSED as one: a listener is no connection. After its last line what
/// the text has beside the figure: sections 3.5.2, 3.6.1, 3.8.3 and 3.10.4 to 3.10.8.
const EDGES: &[(State, State, Cause)] = &[
    (Closed, SynSent, Cause::OPEN),
    (Closed, SynReceived, Cause::SYN),
    (SynSent, SynReceived, Cause::SYN),
    (SynSent, Established, Cause::SYN.and(Cause::ACK)),
    (SynReceived, Established, Cause::ACK),
    (SynReceived, FinWait1, Cause::CLOSE),
    (Established, FinWait1, Cause::CLOSE),
    (Established, CloseWait, Cause::FIN),
    (FinWait1, FinWait2, Cause::ACK),
    (FinWait1, Closing, Cause::FIN),
    (FinWait2, TimeWait, Cause::FIN),
    (Closing, TimeWait, Cause::ACK),
    (CloseWait, LastAck, Cause::CLOSE),
    (LastAck, Closed, Cause::ACK),
    (TimeWait, Closed, Cause::TIME),
    // RFC 6191, and where the listener has no room for it.
    (TimeWait, SynReceived, Cause::SYN),
    (TimeWait, Closed, Cause::SYN),
    // RFC 4987, section 3.6.
    (Closed, SynReceived, Cause::COOKIE),
    (SynSent, Closed, Cause::RST),
    (SynReceived, Closed, Cause::RST),
    (Established, Closed, Cause::RST),
    (FinWait1, Closed, Cause::RST),
    (FinWait2, Closed, Cause::RST),
    (CloseWait, Closed, Cause::RST),
    (Closing, Closed, Cause::RST),
    (LastAck, Closed, Cause::RST),
    (SynSent, Closed, Cause::TIME),
    (SynReceived, Closed, Cause::TIME),
    (Established, Closed, Cause::TIME),
    (FinWait1, Closed, Cause::TIME),
    (FinWait2, Closed, Cause::TIME),
    (CloseWait, Closed, Cause::TIME),
    (Closing, Closed, Cause::TIME),
    (LastAck, Closed, Cause::TIME),
    (SynSent, Closed, Cause::ABORT),
    (SynReceived, Closed, Cause::ABORT),
    (Established, Closed, Cause::ABORT),
    (FinWait1, Closed, Cause::ABORT),
    (FinWait2, Closed, Cause::ABORT),
    (CloseWait, Closed, Cause::ABORT),
    (Closing, Closed, Cause::ABORT),
    (LastAck, Closed, Cause::ABORT),
    // Data that nobody will read: SHLD-3.
    (Established, Closed, Cause::CLOSE.and(Cause::DATA)),
    (FinWait1, Closed, Cause::CLOSE.and(Cause::DATA)),
    (FinWait2, Closed, Cause::CLOSE.and(Cause::DATA)),
];

#[cfg(test)]
mod tests;
