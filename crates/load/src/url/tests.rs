use super::*;
use crate::http::{RequestEvent, RequestParser};

fn target(text: &str) -> String {
    let url = Url::parse(text).unwrap();
    let bytes = url.request(&Ask::default()).unwrap().bytes;
    String::from_utf8(bytes).unwrap().lines().next().unwrap().to_owned()
}

#[test]
fn a_url_has_a_host_a_port_and_a_path() {
    assert_eq!(target("http://127.0.0.1:8080/x?y=1#z"), "GET /x?y=1 HTTP/1.1");
    assert_eq!(target("http://127.0.0.1"), "GET / HTTP/1.1");
    assert_eq!(target("http://127.0.0.1?q"), "GET /?q HTTP/1.1");
    let address = |text| Url::parse(text).unwrap().address().unwrap().to_string();
    assert_eq!(address("http://127.0.0.1/"), "127.0.0.1:80");
    assert_eq!(address("http://[::1]:8080/a:9"), "[::1]:8080");
    assert_eq!(address("http://[::1]/"), "[::1]:80");
}

#[test]
fn what_is_no_url_is_refused_and_says_what_would_be() {
    let no = |text| Url::parse(text).unwrap_err().to_string();
    assert!(no("https://127.0.0.1/").contains("https is not spoken"));
    assert!(no("127.0.0.1:80").contains("write a URL"));
    assert!(no("http://127.0.0.1:0/").contains("port"));
    assert!(no("http://127.0.0.1:x/").contains("port"));
    assert!(no("http:///x").contains("host"));
    assert!(no("http://a\r\nb/").contains("host"));
    assert!(no("http://a/ b").contains("%20"));
}

#[test]
fn a_request_is_what_a_server_reads() {
    let ask = Ask {
        method: "POST".to_owned(),
        headers: vec![("X-A".to_owned(), "b c".to_owned())],
        body: b"hello".to_vec(),
        keep_alive: false,
    };
    let request = Url::parse("http://127.0.0.1:1/p").unwrap().request(&ask).unwrap();
    let text = String::from_utf8(request.bytes.clone()).unwrap();
    assert!(
        text.contains("\r\nHost: 127.0.0.1:1\r\n") && text.contains("\r\nX-A: b c\r\n"),
        "{text}"
    );
    let mut parser = RequestParser::new();
    let mut rest = &request.bytes[..];
    let mut messages = Vec::new();
    while !rest.is_empty() {
        let read = parser.read(rest).unwrap();
        rest = &rest[read.used..];
        messages.extend(read.message);
    }
    let Some(RequestEvent::Request(message)) = messages.last() else { panic!("{messages:?}") };
    assert_eq!((message.body_bytes, message.is_persistent), (5, false));
}

#[test]
fn a_header_that_would_be_two_is_refused() {
    let url = Url::parse("http://127.0.0.1/").unwrap();
    let header = |name: &str, value: &str| {
        let headers = vec![(name.to_owned(), value.to_owned())];
        url.request(&Ask { headers, ..Ask::default() })
    };
    assert!(header("A", "b").is_ok());
    assert!(header("A", "b\r\nC: d").is_err());
    assert!(header("A b", "c").is_err());
    assert!(url.request(&Ask { method: "GET /".to_owned(), ..Ask::default() }).is_err());
}
