use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::Arc,
};

use super::{Endpoint, Otlp, Service, exposition::tests::sample};

#[test]
fn the_thread_serves_and_sends_until_it_is_stopped() {
    let metrics = sample();
    let any = "127.0.0.1:0".parse().expect("an address");
    let endpoint = Endpoint::bind(any).expect("a port");
    let address = endpoint.address();
    let receiver = std::net::TcpListener::bind(any).expect("a port");
    let url = format!("http://{}", receiver.local_addr().expect("an address"));
    let otlp = Otlp {
        receiver: url.parse().expect("a receiver"),
        interval: std::time::Duration::from_hours(1),
        host_name: "host-7".to_owned(),
    };
    let warn = Arc::new(|text: &str| panic!("{text}"));
    let service = Service::start(&metrics, Some(endpoint), Some(otlp), warn).expect("a thread");
    let mut stream = TcpStream::connect(address).expect("connect");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("send");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("a page");
    assert!(page.ends_with("# EOF\n"), "{page}");
    let collector = std::thread::spawn(move || {
        let (mut stream, _) = receiver.accept().expect("the last export");
        let mut head = [0; 21];
        stream.read_exact(&mut head).expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("an answer");
        // Read to the end, or closing would be a reset that the answer can be lost in.
        let _ = stream.read_to_end(&mut Vec::new());
        head
    });
    service.stop();
    assert_eq!(&collector.join().expect("a request"), b"POST /v1/metrics HTTP");
    assert!(metrics.exposition().contains("portolan_otlp_export_count_total 1\n"));
}
