use super::Receiver;

#[test]
fn the_path_of_otlp_is_added() {
    for (url, shown, host) in [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics", "127.0.0.1"),
        ("http://localhost:4318/", "http://localhost:4318/v1/metrics", "localhost"),
        ("http://[::1]:4318", "http://[::1]:4318/v1/metrics", "::1"),
        ("http://c:80/otlp/", "http://c:80/otlp/v1/metrics", "c"),
        ("http://c:80/v1/metrics", "http://c:80/v1/metrics", "c"),
    ] {
        let receiver: Receiver = url.parse().expect(url);
        assert_eq!((receiver.to_string().as_str(), receiver.host.as_str()), (shown, host));
    }
}

#[test]
fn an_error_says_what_to_write() {
    for (url, why) in [
        ("https://collector:4318", "this program has no TLS: send to an OpenTelemetry Collector"),
        ("127.0.0.1:4318", "write http://HOST:PORT"),
        ("grpc://c:4317", "write http://HOST:PORT"),
        ("", "write http://HOST:PORT"),
        ("http://", "write http://HOST:PORT"),
        ("http://a b:1", "write http://HOST:PORT"),
        ("http://c", "it names no port"),
        ("http://c:0", "it names no port"),
        ("http://me:secret@c:4318", "names and passwords are not sent"),
        ("http://c:4318/?x=1", "leave that out"),
    ] {
        let error = url.parse::<Receiver>().expect_err(url).to_string();
        assert!(error.contains(why), "{url}: {error}");
    }
}
