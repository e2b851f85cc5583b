//! Urgent data: RFC 9293, section 3.8.5. It stays in the stream (RFC 6093, section 4).

use portolan_wire::tcp::Flags;

use crate::tcp::{
    connection::{Connection, State},
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
