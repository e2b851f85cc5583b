//! `struct tcp_info` (include/uapi/linux/tcp.h). The kernel only ever appends to it, so an older
//! kernel's is shorter, and what lies beyond is unknown.

use crate::TcpInfo;

/// Offsets of the fields that every supported kernel has end here (`tcpi_total_retrans`).
const OLDEST_BYTES: usize = 104;

/// The kernel's smallest round-trip time before the first one.
const NEVER_MEASURED: u32 = u32::MAX;

/// Reads the attribute's payload; `None` if it is shorter than any kernel's.
pub fn decode(bytes: &[u8]) -> Option<TcpInfo> {
    if bytes.len() < OLDEST_BYTES {
        return None;
    }
    let word = |at| word(bytes, at).unwrap_or(0);
    Some(TcpInfo {
        retransmit_timeout_us: word(8),
        send_mss: word(16),
        receive_mss: word(20),
        lost: word(32),
        path_mtu: word(60),
        rtt_us: word(68),
        rtt_variation_us: word(72),
        slow_start_threshold: word(76),
        congestion_window: word(80),
        retransmits_total: word(100),
        bytes_acked: long(bytes, 120),
        bytes_received: long(bytes, 128),
        rtt_min_us: self::word(bytes, 148).filter(|&rtt| rtt != NEVER_MEASURED),
        delivery_rate: long(bytes, 160),
        bytes_sent: long(bytes, 200),
        bytes_retransmitted: long(bytes, 208),
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|long| u64::from_ne_bytes(*long))
}

#[cfg(test)]
mod tests;
