use std::time::Duration;

use super::*;
use crate::wait::wait;

#[test]
fn who_was_woken_waits_again() {
    let waker = Waker::new().unwrap();
    assert!(!waker.take());
    waker.wake();
    waker.wake();
    wait(None, &waker, None).unwrap();
    assert!(waker.take() && !waker.take(), "asked twice, told once");
    // Taken before the wait, as by a thread that was busy: the wait ends once too often, not more.
    waker.wake();
    assert!(waker.take());
    wait(None, &waker, None).unwrap();
    assert!(rustix::io::read(&waker.event, &mut [0; 8]).is_err(), "it is unreadable again");
    wait(None, &waker, Some(Duration::from_millis(1))).unwrap();
    assert!(!waker.take());
}
