//! Programs on the queue's thread.

mod pair;

use std::{
    io::{Read, Write},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use pair::{CLIENT, SERVER, at, config};
use portolan_host::{
    Context, Ending, Error, Host, Next, Program,
    blocking::Endpoint,
    nic::mem,
    stack::{
        Event,
        tcp::{self, ConnectionId},
    },
};

const PATIENCE: Duration = Duration::from_secs(60);

/// Counts what it sees in frames, and answers with the sum so far.
#[derive(Default)]
struct Sum {
    in_place: Arc<AtomicUsize>,
    seen: usize,
    answer_to: Option<ConnectionId>,
    turns: Arc<AtomicUsize>,
    ports: Vec<u16>,
}

impl Program for Sum {
    fn begin(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.ports.iter().try_for_each(|&port| context.listen(None, port, 8).map(drop))
    }

    fn data(&mut self, connection: ConnectionId, bytes: &[u8]) -> usize {
        self.in_place.fetch_add(bytes.len(), Ordering::Relaxed);
        self.seen += bytes.len();
        self.answer_to = Some(connection);
        bytes.len()
    }

    fn event(&mut self, context: &mut Context<'_>, event: Event) {
        let tcp = context.stack.tcp();
        match event {
            Event::Tcp(tcp::Event::Acceptable(listener)) => {
                tcp.accept(listener, context.now).unwrap();
            }
            // What came before it was accepted.
            Event::Tcp(tcp::Event::Connection { id, .. }) => {
                let count = tcp.front(id).unwrap().len();
                tcp.consume(id, count, context.now).unwrap();
                self.seen += count;
                self.answer_to = self.answer_to.or(Some(id).filter(|_| count > 0));
            }
            _ => {}
        }
    }

    fn turn(&mut self, context: &mut Context<'_>) -> Next {
        if let Some(id) = self.answer_to.take() {
            let answer = (self.seen as u64).to_be_bytes();
            context.stack.tcp().write(id, &answer, context.now).unwrap();
        }
        self.turns.fetch_add(1, Ordering::Relaxed);
        Next::At(context.now + Duration::from_millis(1))
    }

    fn end(&mut self, _context: &mut Context<'_>, _how: Ending) {}
}

#[test]
fn data_is_seen_where_it_lies_and_answered_in_the_turn() {
    let (near, far) = mem::pair(&mem::Options::default());
    let in_place = Arc::new(AtomicUsize::new(0));
    let sum = Sum { ports: vec![7], in_place: Arc::clone(&in_place), ..Sum::default() };
    let _host = Host::start(&config(SERVER), vec![(near, sum)]).unwrap();
    let client = Endpoint::start(&config(CLIENT), vec![far]).unwrap();
    let mut connection = client.connect(at(7)).unwrap();
    connection.set_timeout(Some(PATIENCE));
    for nth in 1..=20_u64 {
        connection.write_all(&[b'x'; 100]).unwrap();
        let mut answer = [0; 8];
        connection.read_exact(&mut answer).unwrap();
        assert_eq!(u64::from_be_bytes(answer), nth * 100);
    }
    assert!(in_place.load(Ordering::Relaxed) >= 1_900, "only the first may come before accept");
}

#[test]
fn a_program_has_its_turn_when_it_asked_for_it() {
    let (near, _far) = mem::pair(&mem::Options::default());
    let turns = Arc::new(AtomicUsize::new(0));
    let sum = Sum { turns: Arc::clone(&turns), ..Sum::default() };
    let host = Host::start(&config(SERVER), vec![(near, sum)]).unwrap();
    let begun = Instant::now();
    while turns.load(Ordering::Relaxed) < 20 {
        assert!(begun.elapsed() < PATIENCE, "no turns without frames");
        thread::yield_now();
    }
    drop(host);
}

#[test]
fn a_program_that_cannot_begin_is_an_error() {
    let (near, _far) = mem::pair(&mem::Options::default());
    let sum = Sum { ports: vec![7, 7], ..Sum::default() };
    let error = Host::start(&config(SERVER), vec![(near, sum)]).unwrap_err();
    assert!(matches!(error, Error::Listen { port: 7, .. }), "{error}");
    let none: Vec<(mem::Mem, Sum)> = Vec::new();
    assert!(matches!(Host::start(&config(SERVER), none), Err(Error::Options(_))));
    let (near, _far) = mem::pair(&mem::Options { mtu: 500, ..mem::Options::default() });
    let error = Host::start(&config(SERVER), vec![(near, Sum::default())]).unwrap_err();
    assert!(error.to_string().contains("MTU"), "{error}");
}

#[test]
fn a_link_that_is_down_is_counted_and_ends_nothing() {
    let (near, far) = mem::pair(&mem::Options::default());
    let mut host = Host::start(&config(SERVER), vec![(near, Sum::default())]).unwrap();
    drop(far);
    let begun = Instant::now();
    while host.readings()[0].link_down == 0 {
        assert!(begun.elapsed() < PATIENCE, "nobody noticed");
        thread::yield_now();
    }
    assert!(!host.has_ended());
    // Once, however long it lasts.
    thread::sleep(Duration::from_millis(200));
    assert_eq!(host.readings()[0].link_down, 1);
    host.stop().unwrap();
}

/// Panics at the first datagram.
struct Fragile {
    /// Its copies tell how many of these there still are.
    _copy: Arc<()>,
}

impl Program for Fragile {
    fn begin(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        context.bind(None, 9).map(drop)
    }

    fn event(&mut self, _context: &mut Context<'_>, event: Event) {
        assert!(!matches!(event, Event::Udp(_)), "a datagram");
    }

    fn end(&mut self, _context: &mut Context<'_>, _how: Ending) {}
}

#[test]
fn a_program_that_panics_takes_the_other_threads_along() {
    let (near, far) = mem::pair(&mem::Options::default());
    let (second, _nobody) = mem::pair(&mem::Options::default());
    let there_are = Arc::new(());
    let fragile = || Fragile { _copy: Arc::clone(&there_are) };
    let queues = vec![(near, fragile()), (second, fragile())];
    let mut host = Host::start(&config(SERVER), queues).unwrap();
    let client = Endpoint::start(&config(CLIENT), vec![far]).unwrap();
    // Which of the two gets it is not said: until one does.
    let begun = Instant::now();
    while Arc::strong_count(&there_are) > 1 {
        assert!(begun.elapsed() < PATIENCE);
        let from = client.bind(None, 0).unwrap();
        from.send_to(b"x", at(9)).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
    assert!(host.connections().is_empty(), "nobody answers any more, and nobody waits for that");
    assert!(matches!(host.stop(), Err(Error::Panicked)));
}
