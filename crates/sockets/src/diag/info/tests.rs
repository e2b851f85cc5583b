use netlink_packet_sock_diag::inet::nlas::TcpInfo as Measured;
use proptest::{collection::vec, prelude::*};

use super::*;

/// `struct tcp_info` as of Linux 4.19, where the second implementation's ends.
const ORACLE_BYTES: usize = 232;

fn same(ours: &TcpInfo, theirs: &Measured) -> bool {
    ours.rtt_us == theirs.rtt
        && ours.rtt_variation_us == theirs.rttvar
        && ours.retransmit_timeout_us == theirs.rto
        && ours.send_mss == theirs.snd_mss
        && ours.receive_mss == theirs.rcv_mss
        && ours.path_mtu == theirs.pmtu
        && ours.congestion_window == theirs.snd_cwnd
        && ours.slow_start_threshold == theirs.snd_ssthresh
        && ours.retransmits_total == theirs.total_retrans
        && ours.lost == theirs.lost
        && ours.bytes_acked == Some(theirs.bytes_acked)
        && ours.bytes_received == Some(theirs.bytes_received)
        && ours.rtt_min_us.unwrap_or(u32::MAX) == theirs.min_rtt
        && ours.delivery_rate == Some(theirs.delivery_rate)
        && ours.bytes_sent == Some(theirs.bytes_sent)
        && ours.bytes_retransmitted == Some(theirs.bytes_retrans)
}

/// The fields that came later, with the offset where each ends.
fn later(info: &TcpInfo) -> [(usize, Option<u64>); 6] {
    [
        (128, info.bytes_acked),
        (136, info.bytes_received),
        (152, info.rtt_min_us.map(u64::from)),
        (168, info.delivery_rate),
        (208, info.bytes_sent),
        (216, info.bytes_retransmitted),
    ]
}

#[test]
fn a_round_trip_that_was_never_measured_is_unknown() {
    let mut bytes = [0; ORACLE_BYTES];
    bytes[148..152].fill(0xff);
    assert_eq!(decode(&bytes).expect("long enough").rtt_min_us, None);
}

#[test]
fn the_oldest_kernels_structure_is_enough_and_less_is_not() {
    assert_eq!(decode(&[0; 103]), None);
    let oldest = decode(&[0; 104]).expect("Linux 2.6.32 has as much");
    assert_eq!(later(&oldest).map(|(_, value)| value), [None; 6]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_second_implementation_reads_the_same(bytes in vec(any::<u8>(), ORACLE_BYTES..300)) {
        let ours = decode(&bytes).expect("long enough");
        let theirs = Measured::parse(&bytes).expect("long enough");
        prop_assert!(same(&ours, &theirs), "{:?} {:?}", ours, theirs);
    }

    #[test]
    fn an_older_kernel_knows_less(bytes in vec(any::<u8>(), ORACLE_BYTES), cut in 0..ORACLE_BYTES) {
        let whole = decode(&bytes).expect("long enough");
        let Some(part) = decode(&bytes[..cut]) else {
            prop_assert!(cut < OLDEST_BYTES);
            return Ok(());
        };
        prop_assert!(cut >= OLDEST_BYTES);
        for ((end, value), (_, known)) in later(&whole).into_iter().zip(later(&part)) {
            prop_assert_eq!(known, value.filter(|_| end <= cut), "the field that ends at {}", end);
        }
        let without = |info: TcpInfo| TcpInfo {
            bytes_acked: None,
            bytes_received: None,
            rtt_min_us: None,
            delivery_rate: None,
            bytes_sent: None,
            bytes_retransmitted: None,
            ..info
        };
        prop_assert_eq!(without(part), without(whole));
    }
}
