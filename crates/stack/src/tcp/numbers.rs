//! How far a connection is, for who watches over the stack.

use portolan_wire::Seq;

use super::{Flow, State, TIME_WAIT, Tcp};

/// The numbers of a connection, by the names of RFC 9293, section 3.3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Its state.
    pub state: State,
    /// The first number that was sent and not acknowledged.
    pub snd_una: Seq,
    /// The number that is sent next.
    pub snd_nxt: Seq,
    /// How many numbers from `snd_una` on the peer takes.
    pub snd_wnd: u32,
    /// The number that is expected next.
    pub rcv_nxt: Seq,
    /// How many numbers from `rcv_nxt` on were offered to the peer.
    pub rcv_wnd: u32,
}

impl Tcp {
    /// Where the connection with these two ends stands, whoever has it: also one that is half-open,
    /// that waits to be accepted, that its program has given back, or that waits for late segments.
    /// None where there is none, or none any more.
    #[must_use]
    pub fn numbers(&self, flow: &Flow) -> Option<Numbers> {
        let index = self.find(flow)?;
        if index & TIME_WAIT != 0 {
            return self.time_waits.numbers(index & !TIME_WAIT);
        }
        let connection = self.connections.get(index)?;
        let (sender, receiver) = (&connection.sender, &connection.receiver);
        Some(Numbers {
            state: connection.state,
            snd_una: sender.una,
            snd_nxt: sender.nxt,
            snd_wnd: sender.window,
            rcv_nxt: receiver.next,
            rcv_wnd: receiver.edge.distance(receiver.next),
        })
    }
}
