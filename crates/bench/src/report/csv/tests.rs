use super::*;
use crate::report::fixture;

/// A reader of RFC 4180, written independently of the writer.
fn parse(text: &str) -> Vec<Vec<String>> {
    let (mut lines, mut fields, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut chars) = (false, text.chars().peekable());
    while let Some(char) = chars.next() {
        match char {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            '\r' if !quoted => assert_eq!(chars.peek(), Some(&'\n')),
            '\n' if !quoted => {
                fields.push(std::mem::take(&mut field));
                lines.push(std::mem::take(&mut fields));
            }
            other => field.push(other),
        }
    }
    assert!(!quoted && field.is_empty() && fields.is_empty());
    lines
}

#[test]
fn every_line_has_every_column() {
    let mut out = Vec::new();
    write_csv(&fixture::results(), &mut out).unwrap();
    let lines = parse(&String::from_utf8(out).unwrap());
    assert_eq!(lines[0], COLUMNS);
    assert_eq!(lines.len(), 7);
    let of = |line: &[String], column: &str| {
        line[COLUMNS.iter().position(|known| *known == column).unwrap()].clone()
    };
    for line in &lines {
        assert_eq!(line.len(), COLUMNS.len());
    }
    assert_eq!(of(&lines[1], "wall_us_median"), "2000");
    assert_eq!(of(&lines[1], "ratio"), "0.5000");
    assert_eq!(
        (of(&lines[1], "task"), of(&lines[1], "baseline")),
        ("pretend".into(), "peer".into())
    );
    assert_eq!(
        (of(&lines[1], "table_reads"), of(&lines[3], "table_reads")),
        ("2345".into(), "".into())
    );
    assert_eq!(of(&lines[2], "contestant"), "steady, \"warm\"");
    assert_eq!(of(&lines[2], "user_us_median"), "");
    assert_eq!(of(&lines[5], "reason"), "exit code 1: a & b < c\nd");
    assert_eq!(of(&lines[5], "wall_us_median"), "");
}

#[test]
fn further_numbers_have_columns_after_all_others() {
    let mut out = Vec::new();
    write_csv(&fixture::with_figures(), &mut out).unwrap();
    let lines = parse(&String::from_utf8(out).unwrap());
    let names = ["packets_per_check", "accepts", "server_cpu_us", "captured_per_check"];
    assert_eq!(lines[0][..COLUMNS.len()], COLUMNS);
    assert_eq!(lines[0][COLUMNS.len()..], names);
    assert_eq!(lines[1][COLUMNS.len()..], ["3", "12345", "1500", "3"]);
    assert_eq!(lines[2][COLUMNS.len()..], [""; 4]);
}

#[test]
fn a_difference_has_three_columns() {
    let mut out = Vec::new();
    write_csv(&fixture::with_differences(), &mut out).unwrap();
    let lines = parse(&String::from_utf8(out).unwrap());
    let first = lines[0].iter().position(|name| name == "added_us").unwrap();
    assert_eq!(lines[0][first..], ["added_us", "added_us_lower", "added_us_upper"]);
    assert_eq!(lines[1][first..], ["0.25", "-0.5", "1"]);
    assert_eq!(lines[2][first..], ["-0.12", "", ""]);
    assert_eq!(lines[3][first..], ["", "", ""]);
}
