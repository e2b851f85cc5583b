use super::*;

/// RFC 5961, section 7.
#[test]
fn ten_leave_in_five_seconds() {
    let mut challenges = Challenges::default();
    let start = Instant::from_micros(10_000_000);
    let allowed =
        |challenges: &mut Challenges, now| (0..100).filter(|_| challenges.allow(now)).count();
    assert_eq!(allowed(&mut challenges, start), 10);
    assert_eq!(allowed(&mut challenges, start + Duration::from_millis(4_999)), 0);
    assert_eq!(allowed(&mut challenges, start + WINDOW), 10);
}
