use super::*;

#[test]
fn a_process_that_ends_early_is_an_error_that_quotes_it() {
    let own = Program::new("/bin/sh", ["-c", "echo no more sockets"]);
    let share = Hold { connections: 5, share: 0 };
    let mut holder = Holder::start(&own, share).unwrap();
    let said = holder.wait_until_ready(share).unwrap_err().to_string();
    assert!(said.contains("5 connections") && said.contains("no more sockets"), "{said}");
    drop(World { holders: vec![holder] });
}

#[test]
fn a_process_ends_when_its_input_is_closed() {
    let own = Program::new("/bin/sh", ["-c", "echo ready 5; cat >/dev/null"]);
    let share = Hold { connections: 5, share: 0 };
    let mut holder = Holder::start(&own, share).unwrap();
    holder.wait_until_ready(share).unwrap();
    assert!(holder.child.try_wait().unwrap().is_none());
    drop(holder.stdin.take());
    holder.end_by(Instant::now() + PATIENCE);
    assert!(holder.child.wait().unwrap().success());
}
