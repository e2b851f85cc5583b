//! As much of the protocol buffers' encoding as OTLP metrics need. The tests hold it against prost.

/// Writes one message, field by field.
#[derive(Debug, Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH: u32 = 2;
const FIXED32: u32 = 5;

impl Writer {
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// An `enum`, `bool`, `int64` that is not negative.
    pub fn varint(&mut self, field: u32, value: u64) {
        self.tag(field, VARINT);
        self.raw_varint(value);
    }

    /// A `fixed64`; an `sfixed64` that is not negative.
    pub fn fixed64(&mut self, field: u32, value: u64) {
        self.tag(field, FIXED64);
        self.bytes.extend(value.to_le_bytes());
    }

    pub fn double(&mut self, field: u32, value: f64) {
        self.fixed64(field, value.to_bits());
    }

    pub fn string(&mut self, field: u32, text: &str) {
        self.tag(field, LENGTH);
        self.raw_varint(length(text.len()));
        self.bytes.extend(text.as_bytes());
    }

    /// A message within this one.
    pub fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        self.tag(field, LENGTH);
        let start = self.bytes.len();
        write(self);
        // The length is known only now, and stands before.
        let end = self.bytes.len();
        self.raw_varint(length(end - start));
        let digits = self.bytes.len() - end;
        self.bytes[start..].rotate_right(digits);
    }

    /// Fields that were written elsewhere.
    pub fn append(&mut self, fields: &[u8]) {
        self.bytes.extend(fields);
    }

    fn tag(&mut self, field: u32, kind: u32) {
        self.raw_varint(u64::from(field << 3 | kind));
    }

    fn raw_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(low_byte(value) | 0x80);
            value >>= 7;
        }
        self.bytes.push(low_byte(value));
    }
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn low_byte(value: u64) -> u8 {
    value.to_le_bytes()[0]
}

/// One field of a message that somebody else wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, up to the first that cannot be understood.
pub(super) fn fields(mut bytes: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    std::iter::from_fn(move || {
        let tag = read_varint(&mut bytes)?;
        let field = match u32::try_from(tag & 7).ok()? {
            VARINT => Field::Number(read_varint(&mut bytes)?),
            FIXED64 => Field::Bytes(take(&mut bytes, 8)?),
            FIXED32 => Field::Bytes(take(&mut bytes, 4)?),
            LENGTH => {
                let length = read_varint(&mut bytes)?;
                Field::Bytes(take(&mut bytes, length)?)
            }
            _ => return None,
        };
        Some((tag >> 3, field))
    })
}

fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn take<'a>(bytes: &mut &'a [u8], count: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(count).ok()?)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests;
