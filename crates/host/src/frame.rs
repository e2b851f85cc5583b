//! What stands beside the bytes of a frame: the device's words in those of the stack, and back.

use portolan_nic as nic;
use portolan_stack as stack;

/// What the stack may leave to the device.
pub(crate) fn offloads(of: &nic::Offloads) -> stack::Offloads {
    stack::Offloads {
        checksum: of.checksum,
        // The device counts from the IP header on, the stack counts payload. Without checksums by
        // the device nothing can be cut.
        segment_bytes_max: match of.checksum {
            true => of.segment_bytes_max.saturating_sub(HEADERS_BYTES_MAX),
            false => 0,
        },
    }
}

/// IPv6 without extensions, which the stack does not send, and TCP with all options: 40 and 60.
const HEADERS_BYTES_MAX: usize = 100;

pub(crate) fn checksum(of: nic::Checksum) -> stack::Checksum {
    match of {
        nic::Checksum::Unknown => stack::Checksum::Unknown,
        nic::Checksum::Verified => stack::Checksum::Verified,
    }
}

pub(crate) fn departure(of: stack::Departure) -> nic::Departure {
    nic::Departure {
        len: of.len,
        checksum: of.checksum.map(|partial| nic::PartialChecksum {
            start: partial.start,
            // One counts from the frame's first byte, the other from `start`.
            offset: partial.offset.saturating_sub(partial.start),
        }),
        segmentation: of.segmentation.map(|cut| nic::Segmentation {
            header_len: cut.header_len,
            payload: cut.payload,
            ipv6: cut.ipv6,
            ecn: cut.ecn,
        }),
    }
}

#[cfg(test)]
mod tests;
