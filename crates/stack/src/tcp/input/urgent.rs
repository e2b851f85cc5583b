//! Urgent data: RFC 9293, section 3.8.5. It stays in the stream (RFC 6093, section 4).

use portolan_wire::{Seq, tcp::Flags};

use crate::tcp::{
    connection::{Connection, Receiver, State},
    event::Ready,
    segment::Segment,
};

impl Connection {
    /// Section 3.10.7.4, sixth. The pointer is that of RFC 9293 (as of 1011 before): of the octet
    /// behind the urgent data.
    pub(super) fn handle_urgent(&mut self, segment: &Segment<'_>) {
        let receives = matches!(self.state, State::Established | State::FinWait1 | State::FinWait2);
        if !segment.has(Flags::URG) || !receives {
            return;
        }
        let end = segment.sequence + u32::from(segment.urgent);
        let is_news = self.receiver.urgent.is_none_or(|urgent| end.after(urgent));
        if is_news && end.after(self.receiver.next) {
            self.receiver.urgent = Some(end);
            self.owner.ready |= Ready::URGENT;
        }
    }
}

impl Receiver {
    /// How many octets the program has to read until the end of the urgent data.
    pub fn urgent_ahead(&self) -> Option<u32> {
        Some(self.urgent?.distance(self.read_to()))
    }

    /// Where all of the urgent data is read, there is none.
    pub fn forget_urgent(&mut self) {
        self.urgent = self.urgent.filter(|urgent| urgent.after(self.read_to()));
    }

    /// The number of the first octet that the program has not read.
    fn read_to(&self) -> Seq {
        // FIN takes a number behind the data.
        let fin = u32::from(self.fin.is_some_and(|fin| fin.before(self.next)));
        self.next - fin - self.stream.len()
    }
}
