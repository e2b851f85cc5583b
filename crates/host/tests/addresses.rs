//! Two hosts with one address.

use std::time::{Duration, Instant};

use portolan_host::{
    Config, Error,
    blocking::Endpoint,
    nic::mem,
    stack::{DuplicateDetection, Noted},
};

const PATIENCE: Duration = Duration::from_secs(60);

fn config(address: &str, last: u8, duplicates: DuplicateDetection) -> Config {
    let mut config = Config::new(vec![address.parse().unwrap()]);
    config.mac = Some([2, 0, 0, 0, 0, last]);
    config.duplicates = duplicates;
    config
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_host_ends_whose_address_is_taken() {
    for address in ["192.0.2.1/24", "2001:db8::1/64"] {
        for duplicates in [DuplicateDetection::Optimistic, DuplicateDetection::Full] {
            let (near, far) = mem::pair(&mem::Options::default());
            let first = config(address, 0xa, DuplicateDetection::Off);
            let first = Endpoint::start(&first, vec![near]).unwrap();
            let second = config(address, 0xb, duplicates);
            let second = Endpoint::start(&second, vec![far]).unwrap();
            let accepted = second.listen(None, 7).map(|listener| listener.accept());
            assert!(!matches!(accepted, Ok(Ok(_))), "the host ends under it");
            let error = second.stop().unwrap_err();
            let Error::AddressTaken { hardware, .. } = &error else { panic!("{error}") };
            assert_eq!(*hardware, [2, 0, 0, 0, 0, 0xa]);
            let (ip, _) = address.split_once('/').unwrap();
            let text = format!("{ip} is already used by 02:00:00:00:00:0a: choose another address");
            assert_eq!(error.to_string(), text);
            assert_eq!(second.readings()[0].stack.noted(Noted::AddressDuplicate), 1);
            first.stop().unwrap();
        }
    }
}

#[test]
fn a_host_that_is_settled_keeps_its_address() {
    let (near, far) = mem::pair(&mem::Options::default());
    let first = config("192.0.2.1/24", 0xa, DuplicateDetection::Off);
    let first = Endpoint::start(&first, vec![near]).unwrap();
    let second = config("192.0.2.1/24", 0xb, DuplicateDetection::Off);
    let second = Endpoint::start(&second, vec![far]).unwrap();
    for host in [&first, &second] {
        wait_for("it hears of the other one", || {
            (host.readings()[0].stack.noted(Noted::AddressConflict) > 0).then_some(())
        });
        assert_eq!(host.readings()[0].stack.noted(Noted::AddressDuplicate), 0);
    }
    first.stop().unwrap();
    second.stop().unwrap();
}
