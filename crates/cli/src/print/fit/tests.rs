use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::*;

const COLUMNS: [Column; 3] = [
    Column { heading: "NAME", leave_out: 0, extra: false, right: false, shrinks: true },
    Column { heading: "COUNT", leave_out: 1, extra: false, right: true, shrinks: false },
    Column { heading: "NOTE", leave_out: 2, extra: false, right: false, shrinks: true },
];

fn row(name: &str, count: &str, note: &str) -> [String; 3] {
    [name.to_owned(), count.to_owned(), note.to_owned()]
}

#[test]
fn columns_are_as_wide_as_their_widest_cell() {
    let rows = [row("postgres", "12", "up"), row("nginx", "3", "")];
    let lines = lines(&COLUMNS, &rows, None);
    let expected = ["NAME      COUNT  NOTE", "postgres     12  up", "nginx         3"];
    assert_eq!(lines.as_deref(), Some(&expected.map(str::to_owned)[..]));
}

#[test]
fn long_names_are_cut_before_columns_are_left_out() {
    let rows = [row("a-very-long-process-name", "1", "up")];
    let lines = lines(&COLUMNS, &rows, Some(25));
    let expected = ["NAME          COUNT  NOTE", "a-very-long…      1  up"];
    assert_eq!(lines.as_deref(), Some(&expected.map(str::to_owned)[..]));
}

#[test]
fn columns_go_in_their_order_and_those_that_must_stay_stay() {
    let rows = [row("a-very-long-process-name", "1", "a note of some length")];
    let lines = lines(&COLUMNS, &rows, Some(18));
    let expected = ["NAME      NOTE", "a-very-…  a note …"];
    assert_eq!(lines.as_deref(), Some(&expected.map(str::to_owned)[..]));
    assert_eq!(super::lines(&COLUMNS, &rows, Some(7)), None);
}

#[test]
fn an_extra_column_goes_before_names_are_hard_to_read() {
    let [name, mut count, note] = COLUMNS;
    let rows = [row("a-very-long-process-name", "1", "a note of some length")];
    let at = |columns: [Column; 3]| lines(&columns, &rows, Some(32)).map(|lines| lines[0].clone());
    assert_eq!(at([name, count, note]).as_deref(), Some("NAME          COUNT  NOTE"));
    count.extra = true;
    assert_eq!(at([name, count, note]).as_deref(), Some("NAME             NOTE"));
}

#[test]
fn wide_characters_count_twice() {
    assert_eq!(cut("日本語", 6), "日本語");
    assert_eq!(cut("日本語", 5), "日本…");
    assert_eq!(cut("日本語", 4), "日…");
    assert_eq!(cut("abc", 0), "");
}

proptest! {
    #[test]
    fn no_line_is_wider_than_asked(
        cells in prop::collection::vec(("\\PC{0,30}", "[0-9]{1,9}", "\\PC{0,30}"), 0..8),
        width in 0usize..80,
    ) {
        let rows: Vec<_> = cells.iter().map(|(a, b, c)| row(a, b, c)).collect();
        if let Some(lines) = lines(&COLUMNS, &rows, Some(width)) {
            prop_assert_eq!(lines.len(), rows.len() + 1);
            for line in lines {
                prop_assert!(line.width() <= width, "{:?} in {}", line, width);
            }
        } else {
            prop_assert!(width < SHRUNK_MIN);
        }
    }

    #[test]
    fn what_is_cut_fits(text in "\\PC{0,40}", width in 0usize..50) {
        prop_assert!(cut(&text, width).width() <= width);
    }
}
