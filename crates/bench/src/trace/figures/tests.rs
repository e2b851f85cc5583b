use super::*;

const CLIENT: &str = include_str!("../../../../load/tests/client-v1.json");
const SERVER: &str = include_str!("../../../../load/tests/server-v1.json");

fn loaded(change: impl Fn(&mut Summary)) -> Loaded {
    let mut client: Summary = serde_json::from_str(CLIENT).unwrap();
    change(&mut client);
    Loaded { client, server: serde_json::from_str(SERVER).unwrap() }
}

fn value(figures: &[Figure], name: &str) -> f64 {
    figures.iter().find(|figure| figure.name == name).unwrap().value
}

#[test]
fn a_rate_that_was_not_reached_is_said() {
    let at = |achieved| {
        loaded(|client| {
            client.asked_per_second = Some(1_000.0);
            client.achieved_per_second = achieved;
        })
        .mark()
    };
    assert_eq!(at(899.0).unwrap(), "not kept up: 899 of 1000 per second");
    assert_eq!(at(901.0), None);
    assert_eq!(loaded(|client| client.asked_per_second = None).mark(), None);
}

#[test]
fn times_are_the_clients() {
    let loaded = loaded(|client| {
        client.request_ns.p50 = 12_345;
        client.request_ns.mean = 20_500.0;
        (client.connect_ns.p50, client.connect_ns.mean) = (4_000, 5_000.0);
        (client.service_ns.p50, client.service_ns.mean) = (8_000, 9_500.0);
        (client.seconds, client.completed) = (2.0, 100_000);
    });
    let response = |is_loop, connects| {
        let times = loaded.times(is_loop, connects);
        assert_eq!(value(&times, "request_us_mean"), 20.5);
        (value(&times, "response_us_median"), value(&times, "response_us_mean"))
    };
    assert_eq!(response(true, true), (12.345, 20.5));
    assert_eq!(response(false, true), (12.0, 14.5));
    assert_eq!(response(false, false), (8.0, 9.5));
    assert_eq!(loaded.cycle(1).value, 20.0);
    assert_eq!(loaded.cycle(4).value, 80.0);
}

#[test]
fn the_load_costs_what_both_ends_took() {
    let mut loaded = loaded(|client| (client.cpu_us, client.completed) = (300, 100));
    loaded.server.cpu_us = 200;
    assert_eq!(loaded.cost().value, 5_000.0);
}

#[test]
fn process_and_kernel_are_added_up_as_a_part_of_one_core() {
    let between = Between {
        span_ns: 2_000_000_000,
        process_ns: 10_000_000,
        kernel_ns: 30_000_000,
        runs: 200_000,
    };
    let figures = spent(between, 20_000.0);
    assert_eq!(value(&figures, "process_percent"), 0.5);
    assert_eq!(value(&figures, "kernel_percent"), 1.5);
    assert_eq!(value(&figures, "total_percent"), 2.0);
    assert_eq!(value(&figures, "per_end_percent"), 1.0);
    assert_eq!(value(&figures, "ns_per_operation"), 1_000.0);
    assert_eq!(value(&figures, "ns_per_event"), 150.0);
    assert_eq!(value(&figures, "events_per_operation"), 5.0);
}

#[test]
fn without_programs_there_is_no_time_for_an_event() {
    let between = Between { span_ns: 1_000, process_ns: 10, ..Between::default() };
    let figures = spent(between, 0.0);
    assert!(figures.iter().all(|figure| figure.name != "ns_per_event"));
    assert!(figures.iter().all(|figure| figure.value.is_finite()));
}
