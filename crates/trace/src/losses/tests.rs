use super::*;

#[test]
fn losses_are_read_in_the_kernels_order() {
    let bytes: Vec<u8> = (1..=7_u64).flat_map(u64::to_ne_bytes).collect();
    let losses = Losses::read(&bytes);
    let expected = [
        ("overflow", 1),
        ("queue_full", 2),
        ("untracked", 3),
        ("no_room", 4),
        ("listeners", 5),
        ("stale", 6),
        ("not_counted", 7),
        ("missed", 0),
    ];
    assert_eq!(losses.by_reason(), expected);
    assert!(losses.any());
    assert!(!Losses::default().any());
}

#[test]
fn losses_are_told_once() {
    let before = Losses { missed: 2, stale: 1, ..Losses::default() };
    let mut now = Losses { missed: 5, ..before };
    assert_eq!(now.since(before), Losses { missed: 3, ..Losses::default() });
    now.add(before);
    assert_eq!(now, Losses { missed: 7, stale: 2, ..Losses::default() });
}
