use super::*;

#[test]
fn times_have_about_three_digits() {
    let expected = [
        (0, "0 µs"),
        (999, "999 µs"),
        (1_000, "1.00 ms"),
        (9_994, "9.99 ms"),
        (9_995, "10.0 ms"),
        (99_949, "99.9 ms"),
        (99_950, "100 ms"),
        (999_499, "999 ms"),
        (999_500, "1.00 s"),
        (7_700_000, "7.70 s"),
        (61_000_000, "61.0 s"),
    ];
    for (micros, text) in expected {
        assert_eq!(time(micros), text);
    }
}

#[test]
fn digits_are_grouped_from_the_right() {
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(999), "999");
    assert_eq!(grouped(1_000), "1,000");
    assert_eq!(grouped(1_234_567), "1,234,567");
}

#[test]
fn memory_and_factors_are_short() {
    assert_eq!(mib(40 * 1_024), "40.0 MiB");
    assert_eq!(factor(0.041), "0.04×");
    assert_eq!(factor(1.0), "1.0×");
    assert_eq!(factor(37.6), "38×");
}

#[test]
fn numbers_are_as_exact_as_people_need_them() {
    let of = |value| number(value, "packets");
    assert_eq!(
        [of(3.0), of(3.004), of(0.5), of(123.4), of(65_536.0)],
        ["3", "3.00", "0.50", "123", "65,536"]
    );
    assert_eq!(number(1_500.4, "us"), "1.50 ms");
}
