use std::{
    net::{SocketAddr, TcpListener},
    sync::atomic::{AtomicBool, Ordering},
};

use super::*;

fn plan(target: SocketAddr, resets: bool) -> BareLoop {
    let SocketAddr::V4(target) = target else { panic!("IPv4") };
    BareLoop { target, threads: 2, duration: Duration::from_millis(30), resets }
}

#[test]
fn connections_are_counted_and_so_are_errors() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    let is_over = AtomicBool::new(false);
    let found = thread::scope(|scope| {
        // Whoever is not accepted fills the queue, and then the loop waits.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let accepted = listener.accept();
                accepted.map_or_else(|_| thread::yield_now(), drop);
            }
        });
        let found = bare_loop(plan(address, true));
        is_over.store(true, Ordering::Relaxed);
        found.unwrap()
    });
    assert!(found.connected > 0 && found.seconds >= 0.03, "{found:?}");
    drop(listener);
    let found = bare_loop(plan(address, false)).unwrap();
    assert!(found.errors > 0 && found.connected == 0, "{found:?}");
}

#[test]
fn arguments_say_all() {
    let one = plan("127.0.0.1:5000".parse().unwrap(), true);
    let args = one.to_args().join(" ");
    assert_eq!(args, "--target 127.0.0.1:5000 --threads 2 --duration-ms 30 --reset");
    assert!(!BareLoop { resets: false, ..one }.to_args().contains(&"--reset".to_owned()));
}
