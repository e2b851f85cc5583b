use proptest::prelude::*;
use smoltcp::wire::TcpSeqNumber;

use super::*;

/// RFC 9293, section 3.4: comparisons wrap around with the numbers.
#[test]
fn wraps_around() {
    let last = Seq(u32::MAX);
    assert_eq!(last + 1, Seq(0));
    assert_eq!(Seq(0) - 1, last);
    assert!(last.before(Seq(0)) && Seq(0).after(last));
    assert!(!last.before(last) && last.at_or_before(last) && last.at_or_after(last));
    assert_eq!((last + 3).distance(last), 3);
    assert!(Seq(1).is_within(last, 3) && !Seq(2).is_within(last, 3) && !last.is_within(last, 0));
}

proptest! {
    #[test]
    fn a_step_forwards_is_after(start: u32, step in 1..1u32 << 31) {
        let (start, end) = (Seq(start), Seq(start) + step);
        prop_assert!(start.before(end) && !end.before(start) && !start.at_or_after(end));
        prop_assert_eq!(end.distance(start), step);
        prop_assert_eq!(end - step, start);
        prop_assert!(!end.is_within(start, step) && (end - 1).is_within(start, step));
    }

    #[test]
    fn compares_as_smoltcp(a: u32, b: u32) {
        prop_assume!(a.wrapping_sub(b) != 1 << 31);
        let (theirs_a, theirs_b) = (TcpSeqNumber(a as i32), TcpSeqNumber(b as i32));
        prop_assert_eq!(Seq(a).before(Seq(b)), theirs_a < theirs_b);
        prop_assert_eq!(Seq(a).at_or_after(Seq(b)), theirs_a >= theirs_b);
    }
}
