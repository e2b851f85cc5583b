use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::net::UnixStream,
};

use super::{super::output::PIECE, *};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Connections of which the first is served so, its other end, and its counters.
fn connection(service: Service) -> (Connections<OwnedFd>, UnixStream, [Counters; 1]) {
    let (mine, theirs) = UnixStream::pair().unwrap();
    mine.set_nonblocking(true).unwrap();
    theirs.set_nonblocking(true).unwrap();
    let mut connections = Connections::new();
    assert_eq!(connections.insert(mine.into(), 0, service), 0);
    (connections, theirs, Default::default())
}

/// How many bytes there are to be read.
fn read_all(mut stream: &UnixStream) -> usize {
    let (mut all, mut buffer) = (0, [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        all += count;
    }
    all
}

#[test]
fn a_request_allocates_nothing() {
    let fixed = Service::RequestResponse { request_bytes: 27, response_bytes: 64 };
    for service in [Service::Echo, Service::Sink, fixed, Service::Http { body_bytes: 64 }] {
        let (mut connections, mut theirs, counters) = connection(service);
        let count = allocation_counter::measure(|| {
            for _ in 0..100 {
                theirs.write_all(GET).unwrap();
                let goes = connections.serve(0, EventFlags::IN, &counters);
                assert_eq!(goes, Goes::Reading);
                read_all(&theirs);
            }
        });
        assert_eq!(count.count_total, 0, "{service}");
        assert_eq!(counters[0].read().bytes_received, 100 * GET.len() as u64);
    }
}

#[test]
fn who_does_not_read_is_neither_read_nor_kept_in_memory() {
    for service in [Service::Echo, Service::Http { body_bytes: 3_000 }] {
        let (mut connections, mut theirs, counters) = connection(service);
        let mut goes = Goes::Reading;
        let mut sent = 0;
        for _ in 0..10_000 {
            match theirs.write(GET) {
                Ok(count) => sent += count,
                Err(_) if goes == Goes::Writing => break,
                Err(_) => {}
            }
            goes = connections.serve(0, EventFlags::IN, &counters);
        }
        assert_eq!(goes, Goes::Writing, "{service}");
        assert!(connections.held <= PIECE && connections.held > 0, "{}", connections.held);
        // Once it reads, everything is answered after all.
        let mut read = 0;
        while goes != Goes::Reading || counters[0].read().bytes_received < sent as u64 {
            read += read_all(&theirs);
            goes = connections.serve(0, EventFlags::OUT, &counters);
        }
        read += read_all(&theirs);
        assert_eq!((connections.held, read as u64), (0, counters[0].read().bytes_sent));
        match service {
            Service::Echo => assert_eq!(read, sent),
            _ => assert_eq!(counters[0].read().requests, (sent / GET.len()) as u64),
        }
    }
}

#[test]
fn only_what_keeps_http_waiting_is_given_up() {
    let (mut connections, mut theirs, counters) = connection(Service::Http { body_bytes: 1 });
    let mut say = |connections: &mut Connections<OwnedFd>, bytes: &[u8], now| {
        connections.set_time(now, 0);
        theirs.write_all(bytes).unwrap();
        let goes = connections.serve(0, EventFlags::IN, &counters);
        connections.sweep(10, &counters, drop);
        (goes, counters[0].read().timed_out)
    };
    let going = (Goes::Reading, 0);
    // Idle as long as it likes, before and between requests.
    assert_eq!(say(&mut connections, b"", 5), going);
    assert_eq!(say(&mut connections, GET, 1_000), going);
    // A body may take long, as long as some of it comes.
    assert_eq!(
        say(&mut connections, b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n", 2_000),
        going
    );
    assert_eq!(say(&mut connections, b"x", 2_009), going);
    assert_eq!(say(&mut connections, b"x1234567", 2_018), going);
    assert_eq!(say(&mut connections, b"9", 2_027), going);
    // An empty line before a request is none yet (RFC 9112, section 2.2).
    assert_eq!(say(&mut connections, b"\r\n", 2_100), going);
    assert_eq!(say(&mut connections, b"\r\n", 2_900), going);
    // A head may not. It came late in its second, so that there is one more.
    assert_eq!(say(&mut connections, b"GET / HTTP/1.1\r\n", 3_000), going);
    assert_eq!(say(&mut connections, b"Host:", 3_009), going);
    assert_eq!(say(&mut connections, b" a", 3_010), going);
    assert_eq!(say(&mut connections, b"b", 3_011), (Goes::Reading, 1));
    assert_eq!((counters[0].read().closed, counters[0].read().requests), (1, 2));
}

#[test]
fn who_asks_for_much_at_once_leaves_others_their_turn() {
    const EACH: usize = 900_000;
    const REQUESTS: usize = 300;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mine = listener.accept().unwrap().0;
    mine.set_nonblocking(true).unwrap();
    let mut connections = Connections::new();
    connections.insert(mine.into(), 0, Service::Http { body_bytes: 1 });
    let request = format!("GET /{EACH} HTTP/1.1\r\nHost: a\r\n\r\n");
    theirs.write_all(request.repeat(REQUESTS).as_bytes()).unwrap();
    // It reads as fast as it is written to.
    let reading = std::thread::spawn(move || {
        let (mut all, mut buffer) = (0, vec![0; 1 << 20]);
        while let Ok(count @ 1..) = theirs.read(&mut buffer) {
            all += count;
        }
        all
    });
    let counters = <[Counters; 1]>::default();
    let (mut before, mut most) = (0, 0);
    while before < (REQUESTS * EACH) as u64 {
        connections.serve(0, EventFlags::OUT, &counters);
        let sent = counters[0].read().bytes_sent;
        most = most.max(sent - before);
        before = sent;
    }
    assert!(most <= 3 << 20, "{most} bytes in one turn");
    while connections.serve(0, EventFlags::OUT, &counters) != Goes::Reading {}
    connections.close(0, &counters);
    assert_eq!(reading.join().unwrap() as u64, counters[0].read().bytes_sent);
}
