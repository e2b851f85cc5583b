use std::{
    fs,
    net::TcpListener,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    process::{Child, Command, Stdio},
};

use super::*;
use crate::scene::{Program, eventually};

fn inode(socket: impl AsFd) -> u32 {
    let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_fd().as_raw_fd()));
    let link = link.expect("an open descriptor").to_string_lossy().into_owned();
    let number = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
    number.expect("a socket").parse().expect("a number")
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").expect("loopback is up")
}

fn walked(source: Source) -> Owners {
    let mut owners = Owners::from(source);
    owners.walk().expect("every source works here");
    owners
}

/// A process that another test is just starting may hold a copy for a moment.
fn forgotten(source: Source, inode: u32) {
    eventually("nobody holds the socket", || !walked(source).knows(inode));
    assert_eq!(walked(source).holder(inode), None);
}

/// A program that inherits a socket, and ends with this value.
struct Heir(Child);

impl Heir {
    fn of(socket: &TcpListener) -> Self {
        let socket = OwnedFd::from(socket.try_clone().expect("a descriptor is free"));
        let sleep = Command::new("sleep").arg("60").stdin(Stdio::from(socket)).spawn();
        Self(sleep.expect("every host has sleep"))
    }
}

impl Drop for Heir {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nobody_is_known_before_the_first_walk() {
    let socket = listener();
    let mut owners = Owners::new();
    assert!(owners.is_empty());
    assert!(!owners.knows(inode(&socket)));
    assert_eq!(owners.holder(inode(&socket)), None);
}

#[test]
fn this_process_holds_its_sockets() {
    for source in Source::ALL {
        let sockets: Vec<TcpListener> = (0..50).map(|_| listener()).collect();
        let mut owners = walked(source);
        assert!(owners.len() >= sockets.len());
        for socket in &sockets {
            let holder = owners.holder(inode(socket)).expect("known");
            assert_eq!(holder.pid, std::process::id());
            assert_eq!(Some(&*holder.process), names::read(std::process::id()).as_ref());
        }
    }
}

#[test]
fn a_socket_that_was_closed_is_forgotten_by_the_next_walk() {
    for source in Source::ALL {
        let socket = listener();
        let number = inode(&socket);
        let owners = walked(source);
        drop(socket);
        assert!(owners.knows(number), "until then");
        forgotten(source, number);
    }
}

#[test]
fn a_shared_socket_belongs_to_the_lowest_process_id() {
    for source in Source::ALL {
        let socket = listener();
        let number = inode(&socket);
        let heirs = [Heir::of(&socket), Heir::of(&socket)];
        let lowest = heirs.iter().map(|heir| heir.0.id()).min();

        let all = lowest.min(Some(std::process::id()));
        assert_eq!(walked(source).holder(number).map(|holder| holder.pid), all);

        drop(socket);
        let heir = walked(source).holder(number).expect("the heirs still hold it");
        assert_eq!((Some(heir.pid), &*heir.process.name), (lowest, "sleep"));

        drop(heirs);
        forgotten(source, number);
    }
}

#[test]
fn a_process_that_became_another_program_has_its_name() {
    for source in Source::ALL {
        let mut program = Program::perl(
            "$^F = 99; socket(S, PF_INET, SOCK_STREAM, 6); print((stat S)[1], qq(\\n)); <STDIN>; \
             exec 'sleep', '60'",
        );
        let number = program.line().parse().expect("an inode number");
        let mut owners = walked(source);
        let mut name = || {
            owners.walk().expect("/proc is mounted");
            owners.holder(number).map(|holder| holder.process.name.clone())
        };
        assert_eq!(name().as_deref(), Some("perl"));
        program.tell();
        eventually("it calls exec()", || name().as_deref() == Some("sleep"));
    }
}

#[test]
fn a_process_that_ended_after_the_walk_is_nobody() {
    for source in Source::ALL {
        let socket = listener();
        let number = inode(&socket);
        let heir = Heir::of(&socket);
        drop(socket);
        let mut owners = Owners::from(source);
        eventually("only the heir holds it", || {
            owners.walk().expect("/proc is mounted");
            owners.walked.holders.get(&number) == Some(&heir.0.id())
        });
        drop(heir);
        assert!(owners.knows(number));
        assert_eq!(owners.holder(number), None);
    }
}

/// As a user's systemd has the sockets of its services.
#[test]
fn a_socket_that_a_manager_passed_on_is_its_services() {
    for source in Source::ALL {
        let mut manager = Program::perl(
            "$^F = 99; $0 = 'systemd'; socket(S, PF_INET, SOCK_STREAM, 6); \
             print((stat S)[1], qq(\\n)); my $p = $$; \
             if (my $c = fork) { print qq($c\\n); <STDIN> } \
             else { $0 = 'web'; select(undef, undef, undef, 0.01) while getppid() == $p; exit }",
        );
        let number = manager.line().parse().expect("an inode number");
        let service: u32 = manager.line().parse().expect("a process id");
        eventually("the service has its name", || {
            let holder = walked(source).holder(number).expect("two hold it");
            holder.pid == service && holder.process.name == "web"
        });
    }
}

#[test]
fn a_process_whose_first_thread_ended_is_found_by_all() {
    let mut program = Program::without_leader();
    let number: u32 = program.line().parse().expect("an inode number");
    for source in Source::ALL {
        eventually("its first thread ended", || {
            walked(source).walked.holders.get(&number) == Some(&program.pid())
        });
    }
}

#[test]
fn all_sources_find_the_same_holders() {
    let sockets: Vec<TcpListener> = (0..3000).map(|_| listener()).collect();
    let inodes: Vec<u32> = sockets.iter().map(inode).collect();
    for source in Source::ALL {
        let mut owners = walked(source);
        let mut lookup = owners.lookup();
        for &number in &inodes {
            let pid = lookup.holder(number).map(|holder| holder.pid);
            assert_eq!(pid, Some(std::process::id()), "{source:?}");
        }
        assert_eq!(owners.holder(inodes[0]).map(|it| it.pid), Some(std::process::id()));
    }
}
