use netlink_packet_sock_diag::inet::nlas::MemInfo;
use proptest::{collection::vec, prelude::*};

use super::*;

/// As many words as the second implementation reads, and the kernel writes today.
const WORDS: usize = 9;

fn same(ours: &SocketMemory, theirs: &MemInfo) -> bool {
    ours.receive_queue_bytes == theirs.receive_queue
        && ours.receive_limit_bytes == theirs.receive_queue_max
        && ours.send_queue_bytes == theirs.send_queue
        && ours.send_limit_bytes == theirs.send_queue_max
        && ours.handed_down_bytes == theirs.bottom_send_queues
        && ours.reserved_bytes == theirs.cache
        && ours.option_bytes == theirs.options
        && ours.backlog_bytes == Some(theirs.backlog_queue_length)
        && ours.drops == Some(theirs.drops)
}

#[test]
fn the_words_are_in_the_order_of_the_kernel() {
    let bytes: Vec<u8> = (1..=9_u32).flat_map(u32::to_ne_bytes).collect();
    let expected = SocketMemory {
        receive_queue_bytes: 1,
        receive_limit_bytes: 2,
        handed_down_bytes: 3,
        send_limit_bytes: 4,
        reserved_bytes: 5,
        send_queue_bytes: 6,
        option_bytes: 7,
        backlog_bytes: Some(8),
        drops: Some(9),
    };
    assert_eq!(decode(&bytes), Some(expected));
}

#[test]
fn the_oldest_kernels_array_is_enough_and_less_is_not() {
    assert_eq!(decode(&[0; 27]), None);
    let oldest = decode(&[0; 28]).expect("Linux 3.3 has as much");
    assert_eq!((oldest.backlog_bytes, oldest.drops), (None, None));
    let newer = decode(&[0; 32]).expect("longer");
    assert_eq!((newer.backlog_bytes, newer.drops), (Some(0), None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_second_implementation_reads_the_same(bytes in vec(any::<u8>(), WORDS * 4..60)) {
        let ours = decode(&bytes).expect("long enough");
        let theirs = MemInfo::parse(&bytes).expect("long enough");
        prop_assert!(same(&ours, &theirs), "{:?} {:?}", ours, theirs);
    }

    #[test]
    fn an_older_kernel_knows_less(bytes in vec(any::<u8>(), WORDS * 4), cut in 0..WORDS * 4) {
        let whole = decode(&bytes).expect("long enough");
        let expected = (cut >= 28).then(|| SocketMemory {
            backlog_bytes: whole.backlog_bytes.filter(|_| cut >= 32),
            drops: None,
            ..whole
        });
        prop_assert_eq!(decode(&bytes[..cut]), expected);
    }
}
