use super::*;

#[test]
fn dates_are_as_in_the_standard() {
    let text = |seconds| String::from_utf8(Date::new(seconds).text().to_vec()).unwrap();
    assert_eq!(text(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    // RFC 9110, section 5.6.7.
    assert_eq!(text(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(text(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
    assert_eq!(text(4_107_542_399), "Sun, 28 Feb 2100 23:59:59 GMT");
    assert_eq!(text(4_107_542_400), "Mon, 01 Mar 2100 00:00:00 GMT");
    let mut date = Date::new(0);
    date.set(1_798_761_599);
    assert_eq!(date.text(), b"Thu, 31 Dec 2026 23:59:59 GMT");
}
