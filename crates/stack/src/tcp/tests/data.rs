use super::*;

#[test]
fn data_arrives_both_ways() {
    let mut pair = Pair::new();
    let ids = pair.connected();
    let data = pattern(3_000_000);
    assert!(pair.transfer(ids, 0, &data) == data);
    assert!(pair.transfer(ids, 1, &data) == data);
    assert_eq!(pair.ends[0].counters().segments_retransmitted, 0, "{:#?}", pair.ends[0].counters());
    assert_eq!(pair.ends[1].counters().segments_retransmitted, 0);
    pair.run(Duration::from_millis(100));
    assert_eq!((pair.ends[0].blocks_in_use(), pair.ends[1].blocks_in_use()), (0, 0));
}

#[test]
fn what_is_lost_is_sent_again() {
    let mut pair = Pair::new();
    let ids = pair.connected();
    pair.arrives = |passing| passing.number % 17 != 0;
    let data = pattern(3_000_000);
    assert!(pair.transfer(ids, 0, &data) == data);
    let counters = pair.ends[0].counters();
    assert!(counters.segments_retransmitted > 100, "{counters:#?}");
    assert!(counters.timeouts < 10, "{counters:#?}");
}
