use super::*;
use crate::http::ResponseParser;

/// What is answered, and how it goes on.
fn answered(input: &str) -> (String, Taken, crate::PortCounts) {
    let (counters, mut out) = (Counters::default(), Vec::with_capacity(GATHERED));
    let mut parser = RequestParser::new();
    let taken = take(&mut parser, 2, &Date::new(0), input.as_bytes(), &mut out, &counters);
    (String::from_utf8(out).unwrap(), taken, counters.read())
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

#[test]
fn a_path_is_a_length() {
    for (path, length) in [("/", 2), ("/0", 0), ("/17", 17), ("/3072?x", 3072), ("/007", 7)] {
        let (text, taken, counts) = answered(&get(path));
        assert!(text.starts_with("HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"));
        assert!(text.contains(&format!("\r\nContent-Length: {length}\r\n\r\n")), "{text}");
        assert!(text.ends_with(&format!("\r\n\r\n{}", ".".repeat(length))));
        assert_eq!((taken.filler, taken.then, counts.requests), (0, Then::Next, 1));
    }
    let (text, taken, _) = answered(&get("/1073741824"));
    assert!(text.contains("Content-Length: 1073741824\r\n") && text.ends_with("\r\n\r\n"));
    assert_eq!(taken.filler, BODY_BYTES_MAX);
    for path in
        ["/1073741825", "/x", "/1/", "/-1", "/99999999999", "*", "/1234567890123456789012345"]
    {
        let (text, taken, counts) = answered(&get(path));
        assert!(text.starts_with("HTTP/1.1 404 Not Found\r\n") && text.ends_with("\nNot Found\n"));
        assert_eq!((taken.then, counts.requests, counts.not_served), (Then::Next, 1, 1));
    }
}

#[test]
fn methods_and_versions() {
    let (text, taken, _) = answered("HEAD /100000 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(text.contains("Content-Length: 100000\r\n") && text.ends_with("\r\n\r\n"));
    assert_eq!((taken.filler, taken.then), (0, Then::Next));
    let (text, taken, counts) = answered("TRACE / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(text.starts_with("HTTP/1.1 405 ") && text.contains("\r\nAllow: GET, "));
    assert_eq!((taken.then, counts.not_served), (Then::Next, 1));
    let (text, taken, _) = answered("GET / HTTP/1.0\r\n\r\n");
    assert!(text.contains("\r\nConnection: close\r\n"));
    assert_eq!(taken.then, Then::Close);
    let (text, taken, _) = answered("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert!(text.contains("\r\nConnection: keep-alive\r\n"));
    assert_eq!(taken.then, Then::Next);
    let text = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi";
    assert!(answered(text).0.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"));
}

#[test]
fn garbage_is_answered_once_and_the_connection_closed() {
    let (text, taken, counts) = answered(&format!("{}garbage\r\n{}", get("/"), get("/")));
    assert!(text.contains("HTTP/1.1 400 Bad Request\r\n") && text.contains("Connection: close"));
    assert_eq!((taken.then, counts.requests, counts.malformed), (Then::Linger, 1, 1));
    let (_, taken, _) =
        answered(&format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n{}", get("/")));
    assert_eq!(taken.then, Then::Linger);
}

#[test]
fn as_much_is_gathered_as_there_is_room_for() {
    let input = get("/3000").repeat(50);
    let (text, taken, counts) = answered(&input);
    assert!(text.len() <= GATHERED && taken.used < input.len());
    assert_eq!(
        (taken.used, taken.then),
        (get("/3000").len() * counts.requests as usize, Then::Next)
    );
    // As a client reads it.
    let (mut parser, mut rest, mut count) = (ResponseParser::new(), text.as_bytes(), 0);
    while !rest.is_empty() {
        let read = parser.read(rest).unwrap();
        assert_eq!(read.message.map(|it| (it.status, it.body_bytes)), Some((200, 3000)));
        (rest, count) = (&rest[read.used..], count + 1);
        parser.begin(false);
    }
    assert_eq!(count, counts.requests);
    // A long body ends it too.
    let (_, taken, counts) = answered(&get("/4000").repeat(3));
    assert_eq!((taken.filler, counts.requests), (4000, 1));
}
