use super::*;

fn summary() -> Summary {
    let vector = include_str!("../../../../load/tests/client-v1.json");
    serde_json::from_str(vector).unwrap()
}

#[test]
fn people_see_what_was_reached_and_what_failed() {
    let text = client(&summary());
    assert!(text.starts_with("98 connections in 0.099 s: 990/s of 1000 asked\n"), "{text}");
    assert!(text.contains("  connect errors: 1 refused, 1 timed out\n"), "{text}");
    assert!(text.contains("connect "), "{text}");
    assert!(text.contains("[::1]:9001\n"), "{text}");
    let slow = Summary { achieved_per_second: 899.0, ..summary() };
    assert!(client(&slow).contains("NOT KEPT UP"));
}

#[test]
fn people_see_each_port_that_was_used() {
    let vector = include_str!("../../../../load/tests/server-v1.json");
    let text = server(&serde_json::from_str(vector).unwrap());
    assert!(text.starts_with("3 ports for 1.500 s; CPU time 0.009 s\nall: 99 accepted"), "{text}");
    assert!(text.contains("\n127.0.0.1:9000: 50 accepted") && !text.contains(":9002"), "{text}");
}

#[test]
fn times_have_a_unit_that_fits() {
    assert_eq!(
        [900, 1_500, 2_340_000, 5_000_000_000].map(time),
        ["0.9 us", "1.5 us", "2.34 ms", "5.00 s"]
    );
}
