use super::*;

#[test]
fn what_is_to_come_lies_ahead() {
    let now = Instant::from_micros(7);
    assert_eq!(now + Duration::from_nanos(1), Instant::from_micros(8));
    assert_eq!(now + Duration::from_micros(1), Instant::from_micros(8));
    assert_eq!(now + Duration::ZERO, now);
    assert_eq!(Instant::ZERO.since(now), Duration::ZERO);
}
