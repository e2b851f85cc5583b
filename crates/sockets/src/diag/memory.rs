//! `INET_DIAG_SKMEMINFO`: what the queues of a socket take (include/uapi/linux/sock_diag.h,
//! `SK_MEMINFO_*`; filled in by `sk_get_meminfo` of net/core/sock.c). An array of 32-bit words to
//! which the kernel only ever appends, so an older kernel's is shorter.

use crate::SocketMemory;

/// Reads the attribute's payload; `None` if it is shorter than any kernel's, which has seven words
/// (Linux 3.3).
pub fn decode(bytes: &[u8]) -> Option<SocketMemory> {
    // In the order of the words.
    Some(SocketMemory {
        receive_queue_bytes: word(bytes, 0)?,
        receive_limit_bytes: word(bytes, 1)?,
        handed_down_bytes: word(bytes, 2)?,
        send_limit_bytes: word(bytes, 3)?,
        reserved_bytes: word(bytes, 4)?,
        send_queue_bytes: word(bytes, 5)?,
        option_bytes: word(bytes, 6)?,
        backlog_bytes: word(bytes, 7),
        drops: word(bytes, 8),
    })
}

fn word(bytes: &[u8], number: usize) -> Option<u32> {
    bytes.get(number * 4..)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests;
