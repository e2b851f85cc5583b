use super::*;

fn read(text: &str) -> Vec<String> {
    let all = parse_serve(text, Sizes::default()).unwrap_or_else(|error| panic!("{error}"));
    all.iter().map(|serve| format!("{}:{}", serve.service, serve.address)).collect()
}

#[test]
fn a_service_is_written_before_its_addresses() {
    assert_eq!(read("echo:9000"), ["echo:127.0.0.1:9000"]);
    assert_eq!(read("rr:9000"), ["rr=64/64:127.0.0.1:9000"]);
    assert_eq!(read("rr=4/64:9000"), ["rr=4/64:127.0.0.1:9000"]);
    assert_eq!(read("http:[::1]:80"), ["http=64:[::1]:80"]);
    assert_eq!(read("http=1024:0.0.0.0:80"), ["http=1024:0.0.0.0:80"]);
    assert_eq!(read("sink:1-2,9"), ["sink:127.0.0.1:1", "sink:127.0.0.1:2", "sink:127.0.0.1:9"]);
    let sizes = Sizes { request_bytes: 1, response_bytes: 2, body_bytes: 3 };
    let own = |text: &str| parse_serve(text, sizes).unwrap()[0].service.to_string();
    assert_eq!((own("rr:1"), own("http:1")), ("rr=1/2".to_owned(), "http=3".to_owned()));
}

#[test]
fn what_is_no_service_is_refused_and_says_what_would_be_one() {
    let no = |text: &str| parse_serve(text, Sizes::default()).unwrap_err().to_string();
    for text in ["", "9000", "https:1", "echo=1:1", "sink=2:1", ":1"] {
        assert!(no(text).contains("http:8080"), "{text}");
    }
    assert!(no("rr=4:1").contains("rr=4/64:9100"));
    assert!(no("rr=4/x:1").contains("rr=4/64:9100"));
    assert!(no("rr=0/4:1").contains("at least one byte"));
    assert!(no("rr=4/9999999:1").contains("1048576"));
    assert!(no("http=x:1").contains("http=1024:8080"));
    assert!(no("http=1073741825:1").contains("1073741824"));
    assert!(no("echo:x").contains("127.0.0.1:9000"));
}
