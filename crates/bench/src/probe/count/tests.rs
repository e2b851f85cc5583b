use super::*;

#[test]
fn the_last_line_is_read_and_its_other_fields_are_ignored() {
    let output = b"{\"version\":1,\"type\":\"finding\"}\n\
        {\"version\":1,\"type\":\"count\",\"checks\":7,\"open\":4,\"closed\":2,\"filtered\":1,\
        \"unreachable\":0,\"error\":0,\"seconds\":0.5,\"new\":null}\n";
    let count = Count::read(output).unwrap();
    let expected =
        Count { checks: 7, open: 4, closed: 2, filtered: 1, seconds: 0.5, ..Count::default() };
    assert_eq!(count, expected);
    assert_eq!(Count::read(expected.to_line().unwrap().as_bytes()), Ok(expected));
}

#[test]
fn what_is_no_count_is_an_error() {
    for output in [&b""[..], b"80/open\n", b"{\"open\":1}\n"] {
        assert!(Count::read(output).unwrap_err().contains("unreadable count"));
    }
}
