use super::*;
use crate::probe::report::{
    Format, Shown,
    sample::{self, HOSTILE, STARTED_MS, closed, filtered, findings, open, written},
};

const VECTOR: &str = include_str!("../vectors/table.txt");

fn table(shown: Shown, checks: u64) -> String {
    written(Format::Text, shown, (checks, 1_000), &findings())
}

#[test]
fn few_checks_are_all_shown() {
    assert_eq!(table(Shown::Usual, 64), VECTOR);
    assert_eq!(table(Shown::Every, 1_000_000), VECTOR);
}

#[test]
fn of_a_sweep_open_ports_are_shown() {
    let text = table(Shown::Usual, 65);
    let shown: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(shown.len(), 5);
    assert!(shown.iter().all(|line| line.contains("  open  ")), "{text}");
    assert_eq!(table(Shown::Open, 1), text);
}

#[test]
fn without_a_line_there_is_no_heading() {
    let silent = [(filtered("10.0.0.1:22"), None)];
    assert_eq!(written(Format::Text, Shown::Open, (1, 0), &silent), "");
}

#[test]
fn columns_get_as_wide_as_what_came() {
    let long = "x".repeat(30);
    let targets = [(open("10.0.0.1:22"), None), (open("10.0.0.1:80"), Some(long.as_str()))];
    let text = written(Format::Text, Shown::Usual, (1, 0), &[targets[0], targets[1], targets[0]]);
    let at: Vec<_> = text.lines().map(|line| line.find("open")).collect();
    assert_eq!(at, [None, Some(23), Some(50), Some(50)]);
    // What is too long moves its own line only.
    let long = "x".repeat(80);
    let targets = [(open("10.0.0.1:80"), Some(long.as_str())), (open("10.0.0.1:22"), None)];
    let text = written(Format::Text, Shown::Usual, (1, 0), &targets);
    let at: Vec<_> = text.lines().map(|line| line.find("open")).collect();
    assert_eq!(at, [None, Some(96), Some(62)]);
}

#[test]
fn states_have_colours_and_lines_keep_their_columns() {
    let lines = |has_colours| {
        let mut out = Vec::new();
        let mut table = Table::new(has_colours);
        for finding in [open("10.0.0.1:22"), closed("10.0.0.1:23"), filtered("10.0.0.1:24")] {
            table.finding(&Found { finding, name: None, at_ms: STARTED_MS }, &mut out);
        }
        String::from_utf8(out).expect("UTF-8")
    };
    let coloured = lines(true);
    for state in
        ["\u{1b}[32mopen\u{1b}[0m", "\u{1b}[31mclosed\u{1b}[0m", "\u{1b}[33mfiltered\u{1b}[0m"]
    {
        assert!(coloured.contains(state), "{coloured:?}");
    }
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), lines(false));
}

#[test]
fn hostile_names_cannot_move_the_cursor() {
    let text = written(Format::Text, Shown::Usual, (1, 0), &[(open("[::1]:22"), Some(HOSTILE))]);
    assert_eq!(text.lines().count(), 2);
    assert!(!text.contains(['\u{1b}', '\t', '\0', '\u{202e}']), "{text:?}");
}

#[test]
fn times_have_three_digits_or_so() {
    let us = |us| time(Duration::from_micros(us));
    assert_eq!(us(0), "0.00 ms");
    assert_eq!(us(214), "0.21 ms");
    assert_eq!(us(9_994), "9.99 ms");
    assert_eq!(us(9_996), "10.0 ms");
    assert_eq!(us(99_960), "100 ms");
    assert_eq!(us(999_600), "1.00 s");
    assert_eq!(us(3_000_400), "3.00 s");
    assert_eq!(us(99_960_000), "100 s");
    assert_eq!(us(1_234_567_890), "1,235 s");
}

#[test]
fn the_end_says_what_came_of_it() {
    let few = sample::summary(&findings());
    let lines = summary(12, 12, &few);
    let counts = "5 open, 2 closed, 2 filtered, 2 unreachable, 1 could not be asked";
    assert_eq!(lines[0], format!("12 checks in 3.01 s (3/s): {counts}"));
    assert_eq!(
        lines[1..],
        ["0.4 % of questions were lost and asked again; 3 forged answers ignored"]
    );
    // The rest of a sweep that was interrupted before, and is again.
    let rest = Summary { is_complete: false, noise: forged(1), ..few };
    let lines = summary(1_500, 5, &rest);
    assert_eq!(lines[0], format!("12 checks, 5 of them now, in 3.01 s (1/s): {counts}"));
    let notes = "interrupted, 1,495 checks short of the end; \
                 0.4 % of questions were lost and asked again; 1 forged answer ignored";
    assert_eq!(lines[1..], [notes]);
}

#[test]
fn a_single_check_speaks_for_itself() {
    let single = [(open("10.0.0.1:22"), None)];
    let usual =
        Summary { counts: Default::default(), noise: forged(0), ..sample::summary(&single) };
    assert_eq!(summary(1, 1, &usual), [""; 0]);
    assert_eq!(summary(1, 1, &Summary { noise: forged(1), ..usual }), ["1 forged answer ignored"]);
    let noise = Noise { overflowed: 2, ..forged(0) };
    assert_eq!(summary(1, 1, &Summary { noise, ..usual }), ["2 packets found no room here"]);
}

fn forged(forged: u64) -> Noise {
    Noise { forged, ..Noise::default() }
}
