use super::*;

#[test]
fn each_row_has_a_value_for_each_column() {
    let mut interval = Interval { nth: 7, completed: 3, ..Interval::default() };
    interval.total.request_errors.length = 5;
    interval.request_ns.p999 = 1_234;
    let (head, row) = (head(), row(&interval));
    let columns: Vec<&str> = head.trim_end().split(',').collect();
    let values: Vec<&str> = row.trim_end().split(',').collect();
    assert_eq!(columns.len(), values.len());
    let value = |name: &str| values[columns.iter().position(|column| *column == name).unwrap()];
    assert_eq!((value("nth"), value("completed"), value("asked_per_second")), ("7", "3", ""));
    assert_eq!((value("request_errors_length"), value("request_ns_p999")), ("5", "1234"));
    assert_eq!(value("errors"), "5");
}
