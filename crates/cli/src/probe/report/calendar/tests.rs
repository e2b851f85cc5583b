use super::*;

#[test]
fn dates_are_those_of_asctime() {
    // `date -u -d @SECONDS "+%a %b %e %T %Y"` says the same.
    assert_eq!(date(0), "Thu Jan  1 00:00:00 1970");
    assert_eq!(date(951_782_399_999), "Mon Feb 28 23:59:59 2000");
    assert_eq!(date(951_782_400_000), "Tue Feb 29 00:00:00 2000");
    assert_eq!(date(1_709_251_200_000), "Fri Mar  1 00:00:00 2024");
    assert_eq!(date(1_795_273_123_456), "Sat Nov 21 14:58:43 2026");
    assert_eq!(date(4_102_444_800_000), "Fri Jan  1 00:00:00 2100");
    assert_eq!(date(4_107_542_400_000), "Mon Mar  1 00:00:00 2100");
}
