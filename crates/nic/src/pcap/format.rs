//! The blocks of pcapng (draft-ietf-opsawg-pcapng): a section, an interface, frames. Numbers are
//! little-endian, as the section says.

use std::time::Duration;

/// Section Header Block (section 4.1).
const SECTION: u32 = 0x0a0d_0d0a;
/// Interface Description Block (section 4.2).
const INTERFACE: u32 = 1;
/// Enhanced Packet Block (section 4.3).
const FRAME: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// `LINKTYPE_ETHERNET`.
const ETHERNET: u16 = 1;

const END_OF_OPTIONS: u16 = 0;
const SECTION_USER_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_TIME_RESOLUTION: u16 = 9;
const FRAME_FLAGS: u16 = 2;

/// Which way a frame went; the two lowest bits of its flags (section 4.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Inbound = 1,
    Outbound = 2,
}

/// Adds what a file begins with: the section and its one interface.
pub(super) fn beginning(out: &mut Vec<u8>, interface: &str) {
    block(out, SECTION, |out| {
        out.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        // Version 1.0.
        out.extend([1, 0, 0, 0]);
        // The section's length is not known.
        out.extend(u64::MAX.to_le_bytes());
        option(out, SECTION_USER_APPLICATION, b"portolan");
        option(out, END_OF_OPTIONS, &[]);
    });
    block(out, INTERFACE, |out| {
        out.extend(ETHERNET.to_le_bytes());
        out.extend([0, 0]);
        // Frames are not cut.
        out.extend(0_u32.to_le_bytes());
        option(out, INTERFACE_NAME, interface.as_bytes());
        // Times count 10^-9 s.
        option(out, INTERFACE_TIME_RESOLUTION, &[9]);
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// Adds a frame that passed at `since` the Unix epoch.
pub(super) fn frame(out: &mut Vec<u8>, since: Duration, direction: Direction, frame: &[u8]) {
    block(out, FRAME, |out| {
        // The number of the interface.
        out.extend(0_u32.to_le_bytes());
        let time = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).to_le_bytes();
        let [low @ .., _, _, _, _] = time;
        let [_, _, _, _, high @ ..] = time;
        out.extend(high);
        out.extend(low);
        // Captured and original length.
        out.extend(length(frame.len()).to_le_bytes());
        out.extend(length(frame.len()).to_le_bytes());
        out.extend(frame);
        pad(out);
        option(out, FRAME_FLAGS, &(direction as u32).to_le_bytes());
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// Adds a block: its kind, its length, what `body` adds, which is whole words, the length again.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let len = length(out.len() - start + 4).to_le_bytes();
    out.extend(len);
    out[start + 4..start + 8].copy_from_slice(&len);
}

fn option(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    // Longer than any name may be.
    let value = value.get(..usize::from(u16::MAX)).unwrap_or(value);
    out.extend(kind.to_le_bytes());
    out.extend(u16::try_from(value.len()).unwrap_or(0).to_le_bytes());
    out.extend(value);
    pad(out);
}

/// Fills up to a multiple of 4; all blocks are, so it counts from the first byte.
fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
