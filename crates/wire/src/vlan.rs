//! VLAN tags, one or two of them (QinQ): IEEE 802.1Q, clause 9.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, network_endian::U16};

use crate::{NoRoom, ethernet::EtherType, malformed::write_header};

/// Length of a tag in bytes.
pub const TAG_BYTES: usize = size_of::<TagFields>();

/// How many tags are read: that of a provider, and that of its customer.
pub const TAGS_MAX: usize = 2;

/// A tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Which kind of tag it is: [`EtherType::VLAN`] or [`EtherType::SERVICE_VLAN`].
    pub protocol: EtherType,
    /// The priority code point, 0 to 7. The order is not that of the numbers: 1 is below 0.
    pub priority: u8,
    /// Whether the frame is the first to be dropped when there is congestion.
    pub drop_eligible: bool,
    /// Which VLAN, 1 to 4094; 0 says that the tag holds a priority alone, 4095 is reserved.
    pub identifier: u16,
}

impl Tag {
    /// The tag with these fields.
    pub(crate) fn read(fields: TagFields) -> Self {
        let control = fields.control.get();
        let [high, _] = control.to_be_bytes();
        Self {
            protocol: EtherType(fields.protocol.get()),
            priority: high >> 5,
            drop_eligible: control & DROP_ELIGIBLE != 0,
            identifier: control & IDENTIFIER_MAX,
        }
    }

    /// Writes the tag at the front of the buffer.
    fn emit(&self, buffer: &mut [u8]) -> Result<(), NoRoom> {
        let drop_eligible = if self.drop_eligible { DROP_ELIGIBLE } else { 0 };
        let control = u16::from(self.priority) << 13 | drop_eligible | self.identifier;
        let fields = TagFields { protocol: self.protocol.0.into(), control: control.into() };
        write_header("VLAN tag", &fields, buffer)
    }

    /// Whether the fields have room for the values.
    fn check(&self) -> Result<(), NoRoom> {
        let fits = |what, value: u16, max: u16| {
            let (max, found) = (max.into(), value.into());
            if found > max { Err(NoRoom::Field { what, max, found }) } else { Ok(()) }
        };
        fits("VLAN identifier", self.identifier, IDENTIFIER_MAX)?;
        fits("VLAN priority", self.priority.into(), PRIORITY_MAX)
    }
}

/// Up to two tags, the outer one first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    /// There is none behind one that is not there.
    tags: [Option<Tag>; TAGS_MAX],
}

impl Tags {
    /// Puts a tag behind the others; false when there are two already.
    pub fn push(&mut self, tag: Tag) -> bool {
        let Some(free) = self.tags.iter_mut().find(|tag| tag.is_none()) else { return false };
        *free = Some(tag);
        true
    }

    /// The tags, the outer one first.
    pub fn iter(&self) -> impl Iterator<Item = Tag> {
        self.tags.into_iter().flatten()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether each tag can be written.
    pub(crate) fn check(&self) -> Result<(), NoRoom> {
        self.iter().try_for_each(|tag| tag.check())
    }

    /// Writes the tags at the front of the buffer.
    pub(crate) fn emit(&self, buffer: &mut [u8]) -> Result<(), NoRoom> {
        self.iter().zip(buffer.chunks_mut(TAG_BYTES)).try_for_each(|(tag, to)| tag.emit(to))
    }
}

/// A tag where it lies. What IEEE 802.1Q calls its protocol identifier is where a frame without a
/// tag has the type of its payload.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct TagFields {
    pub protocol: U16,
    pub control: U16,
}

const IDENTIFIER_MAX: u16 = 0x0fff;
const DROP_ELIGIBLE: u16 = 0x1000;
const PRIORITY_MAX: u16 = 7;

#[cfg(test)]
mod tests;
