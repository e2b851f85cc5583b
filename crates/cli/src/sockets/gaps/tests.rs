use clap::Parser;

use super::*;
use crate::sockets::SocketsArgs;

#[derive(Parser)]
#[command(disable_help_flag = true)]
struct Only {
    #[command(flatten)]
    sockets: SocketsArgs,
}

fn config(flags: &str) -> Config {
    let words = std::iter::once("sockets").chain(flags.split_whitespace());
    Config::check(&Only::parse_from(words).sockets).expect("valid")
}

fn before(flags: &str, method: MethodName, hidden: usize) -> Option<String> {
    known_before(&config(flags), method, hidden)
}

#[test]
fn nothing_is_said_where_all_can_be_told() {
    assert_eq!(before("-tpeomi --columns interface", MethodName::Diag, 0), None);
    assert_eq!(before("-to", MethodName::Procfs, 9), None);
    assert_eq!(before("-t --json", MethodName::Procfs, 0), None, "nobody asked for a cookie");
}

#[test]
fn what_a_method_does_not_tell_is_said_once_with_the_way_out() {
    let flags = "-temi --columns interface,rtt,cookie --method procfs";
    let said = before(flags, MethodName::Procfs, 0).expect("something is missing");
    assert!(said.contains("interface, rtt, cookie, memory, info, which /proc/net"), "{said}");
    assert!(said.contains("--method diag") && !said.contains("uid"), "{said}");
    let said = before("-tm", MethodName::Procfs, 0).expect("something is missing");
    assert!(said.contains("portolan doctor"), "diag was not refused by the user: {said}");
    assert!(before("-tm", MethodName::Walk, 0).expect("missing").contains("memory, which"));
}

#[test]
fn hidden_owners_are_in_the_same_sentence() {
    let flags = "-tpe --method procfs";
    let said = before(flags, MethodName::Procfs, 2).expect("something is missing");
    assert!(said.contains("cookie, which") && said.contains("; process of some"), "{said}");
    assert!(said.contains("2 processes cannot be looked into"), "{said}");
    let said = before("--group-by process", MethodName::Diag, 1).expect("something is missing");
    assert!(said.contains("owners of some sockets"), "{said}");
}

fn row() -> Row {
    Row {
        transport: Transport::Tcp,
        state: State::TimeWait,
        local: "127.0.0.1:80".parse().expect("valid"),
        remote: "127.0.0.1:40000".parse().expect("valid"),
        interface: 0,
        only_v6: None,
        receive_queue: 0,
        send_queue: 0,
        uid: 0,
        inode: 1,
        cookie: 0,
        retransmits: 0,
        timer: 0,
        expires_ms: 0,
        tcp: None,
        memory: None,
    }
}

#[test]
fn an_old_kernel_is_noticed_when_no_socket_has_what_was_asked_for() {
    let mut row = row();
    let config = config("-tmi");
    let mut told = Told::default();
    told.see(&row);
    assert_eq!(told.unexpected(&config, MethodName::Diag), None, "TIME-WAIT never has any");
    row.state = State::Established;
    told.see(&row);
    let said = told.unexpected(&config, MethodName::Diag).expect("none has any");
    assert!(said.contains("memory, info, which this kernel"), "{said}");
    assert_eq!(told.unexpected(&config, MethodName::Procfs), None, "that was said before");
    row.memory = Some(portolan_sockets::SocketMemory::default());
    told.see(&row);
    let said = told.unexpected(&config, MethodName::Diag).expect("no measurements");
    assert!(!said.contains("memory"), "{said}");
}

#[test]
fn holders_that_were_not_found_are_counted() {
    let row = |inode| Row { inode, ..row() };
    let mut told = Told::default();
    told.see_holder(&row(0), false);
    assert_eq!(told.unheld(false), None, "nobody holds what has no inode");
    told.see_holder(&row(7), false);
    for root in [false, true] {
        let said = told.unheld(root).expect("none was found");
        assert!(said.starts_with("no holder of 1 socket was found"), "{said}");
    }
    let mut other = Told::default();
    other.see_holder(&row(8), true);
    told.add(other);
    assert!(told.unheld(false).is_some());
    assert_eq!(told.unheld(true), None, "it is the kernel's");
}
