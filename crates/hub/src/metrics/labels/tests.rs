use crate::{
    metrics::{Settings, labels::Key},
    sample::{container, flow, hidden, process, remote, unit},
};
use portolan_flow::Flow;

fn labels(flow: &Flow, settings: &Settings) -> Vec<(&'static str, String)> {
    let labels = Key::of(flow, settings).labels();
    labels.iter().map(|label| (label.name, label.text.to_string())).collect()
}

fn client_process(name: &str) -> String {
    let flow = flow(process(name, "10.0.0.1"), remote("10.0.0.2"), 80);
    let labels = labels(&flow, &Settings::default());
    let found = labels.into_iter().find(|(name, _)| *name == "client.process");
    found.map_or_else(String::new, |(_, text)| text)
}

#[test]
fn an_edge_is_told_by_these_labels_and_no_others() {
    let seen = flow(
        unit("psql", "app.service", "10.0.0.1"),
        container("postgres", "0123456789abcdef", "192.0.2.9"),
        5432,
    );
    let base = [
        ("client.address", "10.0.0.1"),
        ("server.address", "0.0.0.0/0"),
        ("server.port", "5432"),
        ("network.transport", "tcp"),
        ("client.process", "psql"),
        ("server.process", "postgres"),
    ];
    let text = |(name, text): &(&'static str, &str)| (*name, (*text).to_owned());
    let base: Vec<_> = base.iter().map(text).collect();
    assert_eq!(labels(&seen, &Settings::default()), base);
    let all = Settings { units: true, containers: true, ..Settings::default() };
    let more = [
        ("client.unit", "app.service"),
        ("server.unit", "docker-1.scope"),
        ("server.container", "0123456789abcdef"),
    ];
    let expected = [base, more.iter().map(text).collect()].concat();
    assert_eq!(labels(&seen, &all), expected);
}

#[test]
fn restarts_and_units_that_are_not_asked_for_change_nothing() {
    let settings = Settings::default();
    let mut one = flow(unit("app", "a.service", "10.0.0.1"), remote("10.0.0.2"), 80);
    let other = flow(unit("app", "b.service", "10.0.0.1"), remote("10.0.0.2"), 80);
    assert_eq!(Key::of(&one, &settings), Key::of(&other, &settings));
    one.client.pids = portolan_flow::Pids::of(4711);
    assert_eq!(Key::of(&one, &settings), Key::of(&other, &settings));
    let settings = Settings { units: true, ..settings };
    assert_ne!(Key::of(&one, &settings), Key::of(&other, &settings));
}

#[test]
fn an_unknown_process_has_no_label() {
    let seen = flow(hidden(0, "10.0.0.1"), remote("10.0.0.2"), 80);
    let names: Vec<_> = labels(&seen, &Settings::default()).into_iter().map(|l| l.0).collect();
    assert_eq!(names, ["client.address", "server.address", "server.port", "network.transport"]);
}

#[test]
fn hostile_names_are_text() {
    assert_eq!(client_process("a\nb\u{1b}[2J\0"), r"a\u{a}b\u{1b}[2J\u{0}");
    assert_eq!(client_process("\u{202e}evil"), r"\u{202e}evil");
    assert_eq!(client_process("q\"uo\\te"), "q\"uo\\te");
    let invalid = String::from_utf8_lossy(&[0xff; 15]).into_owned();
    assert_eq!(client_process(&invalid), "\u{fffd}".repeat(15));
}

#[test]
fn long_names_are_cut_between_characters() {
    assert_eq!(client_process(&"x".repeat(500)), "x".repeat(128));
    assert_eq!(client_process(&"\u{20ac}".repeat(100)), "\u{20ac}".repeat(42));
    assert!(client_process(&"\n".repeat(500)).len() <= 128);
}
