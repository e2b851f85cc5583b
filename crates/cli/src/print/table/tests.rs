use unicode_width::UnicodeWidthStr;

use super::*;
use crate::print::sample;

fn table(width: Option<usize>) -> Vec<String> {
    let graph = sample::graph(&[("psql", "postgres", 5432, 1), ("evil\x1b[2J", "redis", 6379, 2)]);
    lines(&graph, graph.edges().iter().map(AsRef::as_ref), width)
}

#[test]
fn an_edge_is_a_line_and_control_characters_are_spelled_out() {
    let lines = table(None);
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0], "CLIENT         SERVER    PORT                 CONNS  STATE  SINCE");
    assert_eq!(lines[1], "evil\\u{1b}[2J  redis     6379/tcp redis           2  up        0s");
    assert_eq!(lines[2], "psql           postgres  5432/tcp postgresql      1  up        0s");
}

#[test]
fn any_terminal_gets_lines_that_fit() {
    for width in 0..100 {
        let lines = table(Some(width));
        assert!(lines.iter().all(|line| line.width() <= width), "{width}: {lines:?}");
    }
}

#[test]
fn a_terminal_too_narrow_for_a_table_gets_two_lines_per_edge() {
    let lines = table(Some(12));
    assert_eq!(lines, ["CLIENT > SE…", "evil\\u{1b}[…", "> redis 637…", "psql", "> postgres …"]);
}

fn busy(width: Option<usize>) -> Vec<String> {
    let graph = sample::busy();
    lines(&graph, graph.edges().iter().map(AsRef::as_ref), width)
}

#[test]
fn where_traffic_is_counted_there_are_columns_for_it() {
    let expected = [
        "CLIENT  SERVER    PORT                 CONNS  NEW/S  BYTES/S     RTT  \
         STATE                         SINCE",
        "api     redis     6379/tcp redis           0      0      0 B          \
         5 refused, 1 timed out           0s",
        "cron    api       8080/tcp http-alt        0    0.5      0 B          \
         1 retransmit                     0s",
        "nginx   api       8080/tcp http-alt        3    120   1.2 MB  0.4 ms  \
         up, 2 retransmits, 5 refused     0s",
        "psql    postgres  5432/tcp postgresql      1                          \
         up                               0s",
    ];
    assert_eq!(busy(None), expected);
}

#[test]
fn a_usual_terminal_can_read_the_names_and_what_fails() {
    for width in 0..130 {
        let lines = busy(Some(width));
        assert!(lines.iter().all(|line| line.width() <= width), "{width}: {lines:?}");
    }
    let lines = busy(Some(80));
    assert!(lines[1].contains("api     redis     6379/tcp redis "), "{lines:?}");
    assert!(lines[1].contains("5 refused") && lines[3].contains("120"), "{lines:?}");
}
