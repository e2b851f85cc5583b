use std::time::Duration;

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn it_is_a_list_in_order(steps in proptest::collection::vec((0_u32..5, any::<bool>()), 0..60)) {
        let begin = Instant::now();
        let mut deadlines = Deadlines::new(5);
        let mut expected: Vec<(u32, Instant)> = Vec::new();
        for (nth, (slot, enters)) in (0..).zip(steps) {
            expected.retain(|(other, _)| *other != slot);
            if enters {
                let at = begin + Duration::from_millis(nth);
                deadlines.enter(slot, at);
                expected.push((slot, at));
            } else {
                deadlines.leave(slot);
            }
            prop_assert_eq!(deadlines.first(), expected.first().copied());
        }
        for wanted in expected {
            prop_assert_eq!(deadlines.first(), Some(wanted));
            deadlines.leave(wanted.0);
        }
        prop_assert_eq!(deadlines.first(), None);
    }
}

#[test]
fn none_of_no_slots() {
    assert_eq!(Deadlines::new(0).first(), None);
}
