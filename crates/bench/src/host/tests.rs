use super::*;

#[test]
fn dates_are_those_of_the_calendar() {
    assert_eq!(date(0), "1970-01-01T00:00:00Z");
    assert_eq!(date(951_782_399), "2000-02-28T23:59:59Z");
    assert_eq!(date(951_782_400), "2000-02-29T00:00:00Z");
    assert_eq!(date(951_868_800), "2000-03-01T00:00:00Z");
    assert_eq!(date(1_735_689_599), "2024-12-31T23:59:59Z");
    assert_eq!(date(4_107_542_400), "2100-03-01T00:00:00Z");
}

#[test]
fn the_load_is_three_numbers_or_none() {
    assert_eq!(loads("1.35 1.06 0.63 2/310 4242\n"), Some([1.35, 1.06, 0.63]));
    assert_eq!(loads("1.35 1.06"), None);
    assert_eq!(loads(""), None);
}

#[test]
fn a_host_describes_itself_in_a_line() {
    let host = Host::here();
    assert!(host.cpus > 0);
    assert!(host.describe().starts_with("Linux ") && !host.describe().contains('\n'));
}
