use std::fs::File;

use super::*;

fn socket(id: u32, attempt: u8) -> Socket {
    let fd = File::open("/dev/null").unwrap().into();
    Socket { fd, id: Id(id), attempt, may_meet_itself: false }
}

fn attempts(under_way: &UnderWay, keys: &[Key]) -> Vec<Option<u8>> {
    keys.iter().map(|&key| under_way.get(key).map(|socket| socket.attempt)).collect()
}

#[test]
fn a_slot_in_use_again_is_not_taken_for_what_was_in_it() {
    let mut under_way = UnderWay::new();
    let old = under_way.insert(socket(7, 0));
    under_way.close_all(Id(7));
    let new = under_way.insert(socket(7, 1));
    assert_eq!(old.halves().0, new.halves().0, "the slot is used again");
    assert_eq!(attempts(&under_way, &[old, new]), [None, Some(1)]);
    under_way.close(old);
    assert_eq!(attempts(&under_way, &[old, new]), [None, Some(1)], "closing twice is no harm");
    under_way.close(new);
    assert_eq!((under_way.len(), under_way.has(Id(7))), (0, false));
}

#[test]
fn any_socket_of_a_check_can_be_closed_before_the_others() {
    for closed in 0..3 {
        let mut under_way = UnderWay::new();
        let other = under_way.insert(socket(0, 9));
        let keys: Vec<Key> = (0..3).map(|attempt| under_way.insert(socket(5, attempt))).collect();
        under_way.close(keys[closed]);
        let mut expected = [Some(0), Some(1), Some(2)];
        expected[closed] = None;
        assert_eq!(attempts(&under_way, &keys), expected);
        assert_eq!((under_way.len(), under_way.has(Id(5))), (3, true));
        under_way.close_all(Id(5));
        assert_eq!(attempts(&under_way, &keys), [None; 3]);
        assert_eq!(attempts(&under_way, &[other]), [Some(9)]);
        assert_eq!((under_way.len(), under_way.has(Id(5))), (1, false));
    }
}

#[test]
fn slots_are_used_again_before_there_are_more() {
    let mut under_way = UnderWay::new();
    for round in 0..100 {
        for id in 0..4 {
            under_way.insert(socket(id, 0));
            under_way.insert(socket(id, 1));
        }
        assert_eq!(under_way.len(), 8);
        assert_eq!(under_way.slots.len(), 8, "round {round}");
        for id in [2, 0, 3, 1] {
            under_way.close_all(Id(id));
        }
    }
}

#[test]
fn what_was_never_there_is_not_found() {
    let mut under_way = UnderWay::new();
    under_way.close_all(Id(u32::MAX));
    under_way.close(Key(u64::MAX));
    assert!(under_way.get(Key(0)).is_none());
    assert!(!under_way.has(Id(3)));
}
