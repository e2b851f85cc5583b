use super::*;

#[test]
fn numbers_are_short_and_have_a_unit() {
    let shorts = [(0.0, "0"), (0.01, "<0.1"), (0.44, "0.4"), (3.0, "3"), (9.96, "10")];
    let longer = [(120.4, "120"), (999.4, "999"), (999.6, "1k"), (12_345.0, "12k"), (2e9, "2G")];
    for (value, expected) in shorts.into_iter().chain(longer) {
        assert_eq!(short(value), expected, "{value}");
    }
    assert_eq!((size(48.0), size(1_200_000.0)), ("48 B".to_owned(), "1.2 MB".to_owned()));
    assert_eq!(size(9e18), "9000000 TB");
    let times = [(43, "43 us"), (100, "0.1 ms"), (12_345, "12 ms"), (999_499, "999 ms")];
    for (us, expected) in times.into_iter().chain([(999_500, "1 s"), (2_500_000, "2.5 s")]) {
        assert_eq!(time(us), expected);
    }
}

#[test]
fn columns_are_narrow() {
    for (value, expected) in [
        (0.0, "0"),
        (0.02, "<0.1"),
        (0.1, "0.1"),
        (3.0, "3"),
        (3.44, "3.4"),
        (9.94, "9.9"),
        (9.96, "10"),
        (120.4, "120"),
        (999.4, "999"),
        (999.6, "1.0k"),
        (3400.0, "3.4k"),
        (34_000.0, "34k"),
        (999_600.0, "1.0M"),
        (340e6, "340M"),
        (2.5e9, "2.5G"),
        (7e18, "7000P"),
        (-1.0, "0"),
    ] {
        assert_eq!(narrow(value), expected, "{value}");
    }
    for (us, expected) in [
        (0, "0us"),
        (999, "999us"),
        (1_000, "1.0ms"),
        (9_949, "9.9ms"),
        (9_950, "10ms"),
        (999_499, "999ms"),
        (999_500, "1.0s"),
        (9_950_000, "10s"),
        (120_000_000, "120s"),
    ] {
        assert_eq!(narrow_time(us), expected, "{us}");
    }
}
