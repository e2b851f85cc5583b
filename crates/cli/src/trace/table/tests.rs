use portolan_flow::Totals;

use super::*;
use crate::trace::sample::{flow, opened};

fn table(flows: &[Flow], width: Option<usize>) -> Vec<String> {
    let rows: Vec<(Names, Figures)> =
        flows.iter().map(|flow| (Names::of(flow), Figures::of(flow))).collect();
    lines(rows.iter().map(|(names, figures)| (names, figures)), width)
}

fn flows() -> Vec<Flow> {
    let refused = Totals { refused: 3, timed_out: 2, ..Totals::default() };
    vec![flow("redis-cli", "redis-server", 6379, opened(3)), flow("curl", "nginx", 80, refused)]
}

#[test]
fn without_a_terminal_everything_is_told() {
    let expected = "\
CLIENT               SERVER                  PORT               UP  NEW/S   >B/S   <B/S     RTT \
\x20RETR/S  FAILED/S
redis-cli @10.0.0.1  redis-server @10.0.0.2  6379/tcp redis      2      3    300   6.0k    85us \
\x20     0
curl @10.0.0.1       nginx @10.0.0.2         80/tcp http         2      0      0      0       - \
\x20     0  3 refused, 2 timed out";
    assert_eq!(table(&flows(), None).join("\n"), expected);
}

#[test]
fn a_line_is_never_wider_than_the_terminal() {
    for width in 1..160 {
        for line in table(&flows(), Some(width)) {
            assert!(line.width() <= width, "{width}: {line:?} is {}", line.width());
        }
    }
}

#[test]
fn columns_are_left_out_in_a_fixed_order() {
    let heading = |width| table(&flows(), Some(width))[0].clone();
    let has = |width, column: &str| heading(width).split_whitespace().any(|word| word == column);
    assert!(has(120, "RETR/S") && has(120, "UP"));
    assert!(has(80, "NEW/S") && has(80, "FAILED/S") && has(80, ">B/S"), "{}", heading(80));
    assert!(!has(80, "RETR/S"), "{}", heading(80));
    assert_eq!(heading(30), "CLIENT > SERVER");
    // What is in the columns does not move them.
    let busy = [flow("redis-cli", "redis-server", 6379, opened(3_000_000))];
    let quiet = [flow("redis-cli", "redis-server", 6379, opened(0))];
    assert_eq!(table(&busy, Some(100))[0], table(&quiet, Some(100))[0]);
}
