use proptest::prelude::*;

use super::*;

/// What a parser said about all the bytes, shown in pieces that end at `cuts`.
fn responses(bytes: &[u8], cuts: &[usize], is_to_head: bool) -> (Vec<Response>, Option<Malformed>) {
    let mut parser = ResponseParser::new();
    parser.begin(is_to_head);
    let mut all = Vec::new();
    for mut piece in pieces(bytes, cuts) {
        while !piece.is_empty() {
            match parser.read(piece) {
                Ok(read) => {
                    assert!(read.used <= piece.len());
                    assert!(read.message.is_some() || read.used == piece.len());
                    piece = &piece[read.used..];
                    if let Some(response) = read.message {
                        all.push(response);
                        parser.begin(is_to_head);
                    }
                }
                Err(malformed) => return (all, Some(malformed)),
            }
        }
    }
    let is_idle = parser.is_idle();
    match parser.end() {
        Ok(response) => all.push(response),
        Err(malformed) if !is_idle => return (all, Some(malformed)),
        Err(_) => {}
    }
    (all, None)
}

fn requests(bytes: &[u8], cuts: &[usize]) -> (Vec<RequestEvent>, Option<Malformed>) {
    let mut parser = RequestParser::new();
    let mut all = Vec::new();
    for mut piece in pieces(bytes, cuts) {
        while !piece.is_empty() {
            match parser.read(piece) {
                Ok(read) => {
                    assert!(read.used <= piece.len());
                    assert!(read.message.is_some() || read.used == piece.len());
                    piece = &piece[read.used..];
                    all.extend(read.message);
                }
                Err(malformed) => return (all, Some(malformed)),
            }
        }
    }
    let end = if parser.is_idle() { None } else { Some(Malformed::Truncated) };
    (all, end)
}

fn pieces<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

fn response(text: &str) -> Response {
    let (all, malformed) = responses(text.as_bytes(), &[], false);
    assert_eq!((all.len(), malformed), (1, None), "{text:?}");
    all[0]
}

fn no_response(text: &str) -> Malformed {
    responses(text.as_bytes(), &[], false).1.unwrap_or_else(|| panic!("{text:?} is one"))
}

fn request(text: &str) -> Request {
    match requests(text.as_bytes(), &[]) {
        (all, None) => match all[..] {
            [RequestEvent::Request(request)] => request,
            _ => panic!("{text:?}: {all:?}"),
        },
        (_, malformed) => panic!("{text:?}: {malformed:?}"),
    }
}

fn no_request(text: &str) -> Malformed {
    requests(text.as_bytes(), &[]).1.unwrap_or_else(|| panic!("{text:?} is one"))
}

#[test]
fn the_length_of_a_response_is_what_it_says() {
    // RFC 9112, section 6.3.
    let length = response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!((length.status, length.body_bytes, length.is_persistent), (200, 5, true));
    let text = "HTTP/1.1 200 OK\r\ntransfer-ENCODING:chunked\r\n\r\n\
                4;a=b\r\nWiki\r\n6 \r\npedia \r\n\
                0\r\nX: y\r\n\r\n";
    assert_eq!((response(text).body_bytes, response(text).is_persistent), (10, true));
    let close = response("HTTP/1.1 404 \r\n\r\nuntil the end");
    assert_eq!((close.status, close.body_bytes, close.is_persistent), (404, 13, false));
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n\
                1\r\nx\r\n0\r\n\r\n";
    assert_eq!((response(both).body_bytes, response(both).is_persistent), (1, false));
    let coded = response("HTTP/1.1 200\nTransfer-Encoding: gzip, chunked\n\n0\r\n\r\n");
    assert_eq!((coded.body_bytes, coded.is_persistent), (0, true));
    let odd = response("HTTP/1.1 200\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n");
    assert_eq!((odd.body_bytes, odd.is_persistent), (5, false));
}

#[test]
fn responses_without_a_body() {
    for status in [101, 204, 304] {
        let text = format!("HTTP/1.1 {status} X\r\nContent-Length: 7\r\n\r\n");
        let bare = response(&text);
        assert_eq!((bare.body_bytes, bare.content_length), (0, Some(7)));
        assert_eq!(bare.is_persistent, status != 101);
    }
    let text = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n".repeat(2);
    let (all, malformed) = responses(text.as_bytes(), &[], true);
    assert_eq!((all.len(), malformed), (2, None));
    assert_eq!((all[0].body_bytes, all[0].content_length), (0, Some(7)));
    let after_others = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n\
                        HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(response(after_others).status, 200);
}

#[test]
fn connections_persist_as_both_versions_say() {
    // RFC 9112, section 9.3.
    for (head, is_persistent) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: a , close\t,b\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close x\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: closed\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: clo se\r\n\r\n", true),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", true),
    ] {
        assert_eq!(response(head).is_persistent, is_persistent, "{head:?}");
    }
}

#[test]
fn what_is_no_response_is_told() {
    for text in [
        "GET / HTTP/1.1\r\n",
        "HTTP/1.1 2OO OK\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA b: c\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: c\r\n\r\n",
        "HTTP/1.1 200 OK\r\n folded: c\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: c\rd\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
    ] {
        assert_eq!(no_response(text), Malformed::Syntax, "{text:?}");
    }
    assert_eq!(no_response("HTTP/2 200\r\n"), Malformed::Version);
    assert_eq!(no_response("HTTP/1.1 200 OK\r\n"), Malformed::Truncated);
    assert_eq!(no_response("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n1"), Malformed::Truncated);
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(no_response(&format!("{chunked}1\r\nx\r\n")), Malformed::Truncated);
    let long = "x".repeat(RESPONSE_HEAD_BYTES_MAX);
    assert_eq!(no_response(&format!("HTTP/1.1 200 {long}")), Malformed::HeadTooLong);
    let long = "x".repeat(CHUNK_LINE_BYTES_MAX);
    assert_eq!(no_response(&format!("{chunked}1;{long}")), Malformed::HeadTooLong);
    assert_eq!(no_response(&format!("{chunked}0\r\nA: {long}")), Malformed::HeadTooLong);
}

#[test]
fn what_a_request_asks_for() {
    let get = request("GET /1024?x=/y HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((get.method, get.path()), (Method::Get, Some(&b"/1024"[..])));
    assert_eq!((get.is_persistent, get.is_version_0, get.body_bytes), (true, false, 0));
    let head = request("\r\n\r\nHEAD / HTTP/1.1\nhost:\nConnection: close\n\n");
    assert_eq!((head.method, head.is_persistent), (Method::Head, false));
    let post = request("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!((post.method, post.body_bytes), (Method::Post, 3));
    let text = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n\
                A\r\n0123456789\r\n0\r\n\r\n";
    assert_eq!((request(text).method, request(text).body_bytes), (Method::Put, 10));
    let old = request("GET / HTTP/1.0\r\n\r\n");
    assert_eq!((old.is_persistent, old.is_version_0), (false, true));
    assert!(request("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").is_persistent);
    let whole = request("GET http://a:80/7 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(whole.path(), Some(&b"/7"[..]));
    let whole = request("GET http://a?/7 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(whole.path(), Some(&b""[..]));
    assert_eq!(request("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n").method, Method::Other);
    assert_eq!(request("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").path(), Some(&b"*"[..]));
    let long = request("DELETE /12345678901234567890123 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((long.method, long.path()), (Method::Other, None));
}

#[test]
fn a_client_that_waits_is_told_to_go_on() {
    let text = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-Continue\r\n\r\nx";
    let (all, malformed) = requests(text.as_bytes(), &[]);
    assert_eq!((all[0], all.len(), malformed), (RequestEvent::Continue, 2, None));
    // Nothing is waited for before an empty body, nor did HTTP/1.0 know it.
    let (all, _) = requests(text.replace(": 1\r", ": 0\r").as_bytes(), &[]);
    assert!(matches!(all[0], RequestEvent::Request(_)));
    let (all, _) = requests(text.replace("HTTP/1.1", "HTTP/1.0").as_bytes(), &[]);
    assert!(matches!(all[..], [RequestEvent::Request(_)]));
}

#[test]
fn what_is_no_request_is_told_with_its_status() {
    for (text, status) in [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        ("GET 7 HTTP/1.1\r\n", 400),
        ("GET http:/7 HTTP/1.1\r\n", 400),
        ("GET  / HTTP/1.1\r\n", 400),
        ("GET /\r\n", 400),
        ("GET / \r\n", 400),
        ("GET /\x7f HTTP/1.1\r\n", 400),
        ("(GET / HTTP/1.1\r\n", 400),
        (" GET / HTTP/1.1\r\n", 400),
        ("GET / http/1.1\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("\x16\x03\x01\x02", 400),
        ("GET / HTTP/2.0\r\n", 505),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n", 501),
        ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
            400,
        ),
    ] {
        assert_eq!(no_request(text).status(), status, "{text:?}");
    }
    let long = "x".repeat(REQUEST_HEAD_BYTES_MAX);
    assert_eq!(no_request(&format!("GET /{long}")).status(), 414);
    assert_eq!(no_request(&format!("GET / HTTP/1.1\r\nHost: {long}")).status(), 431);
    assert_eq!(no_request(&long).status(), 431);
}

#[test]
fn limits_are_exact_and_of_each_line_and_head() {
    let head = |length: usize| {
        let (begin, end) = ("GET / HTTP/1.1\r\nHost: ", "\r\n\r\n");
        format!("{begin}{}{end}", "x".repeat(length - begin.len() - end.len()))
    };
    let longest = head(REQUEST_HEAD_BYTES_MAX);
    let (all, malformed) = requests(longest.repeat(2).as_bytes(), &[]);
    assert_eq!((all.len(), malformed), (2, None));
    let longer = head(REQUEST_HEAD_BYTES_MAX + 1);
    for cuts in [&[][..], &[10]] {
        assert_eq!(requests(longer.as_bytes(), cuts), (vec![], Some(Malformed::HeadTooLong)));
    }
    let chunks = "1;some=extension\r\nx\r\n".repeat(CHUNK_LINE_BYTES_MAX);
    let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n");
    assert_eq!(response(&text).body_bytes, CHUNK_LINE_BYTES_MAX as u64);
}

/// Of which messages are made, and almost messages.
const WORDS: &[&str] = &[
    "GET ",
    "POST /5 ",
    "HEAD / ",
    "HTTP/1.1",
    "HTTP/1.0",
    " 200 OK",
    " 204 X",
    " 100 C",
    "\r\n",
    "\r\n\r\n",
    "Host: a\r\n",
    "Content-Length: 3\r\n",
    "Content-Length: ",
    "Connection: close",
    "Connection: keep-alive, x",
    "Transfer-Encoding: chunked\r\n",
    "Expect: 100-continue\r\n",
    "0\r\n\r\n",
    "3\r\nabc\r\n",
    "5;x=y\r\n",
    "abc",
    "\n",
    ": ",
    ",",
    " ",
    "\t",
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
];

/// Bytes that look like messages often enough to reach all states.
fn almost_http() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        8 => prop::sample::select(WORDS).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(word, 0..24).prop_map(|all| all.concat())
}

proptest! {
    #[test]
    fn pieces_are_read_as_the_whole_is(
        bytes in almost_http(),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
        is_to_head: bool,
    ) {
        let every: Vec<usize> = (0..bytes.len()).collect();
        prop_assert_eq!(requests(&bytes, &[]), requests(&bytes, &cuts));
        prop_assert_eq!(requests(&bytes, &[]), requests(&bytes, &every));
        let whole = responses(&bytes, &[], is_to_head);
        prop_assert_eq!(&whole, &responses(&bytes, &cuts, is_to_head));
        prop_assert_eq!(&whole, &responses(&bytes, &every, is_to_head));
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        requests(&bytes, &[]);
        responses(&bytes, &[], false);
    }

    #[test]
    fn what_is_written_is_read(
        sizes in prop::collection::vec(0_usize..300, 1..6),
        is_chunked: bool,
        cuts in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        let mut text = String::new();
        for &size in &sizes {
            let body = "b".repeat(size);
            if is_chunked {
                text += "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
                for chunk in body.as_bytes().chunks(7) {
                    text += &format!("{:x}\r\n{}\r\n", chunk.len(), "b".repeat(chunk.len()));
                }
                text += "0\r\n\r\n";
            } else {
                text += &format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n{body}");
            }
        }
        let (all, malformed) = responses(text.as_bytes(), &cuts, false);
        prop_assert_eq!(malformed, None);
        let read: Vec<u64> = all.iter().map(|response| response.body_bytes).collect();
        let written: Vec<u64> = sizes.iter().map(|&size| size as u64).collect();
        prop_assert_eq!(read, written);
    }
}
