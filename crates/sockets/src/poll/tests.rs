use std::{
    net::{Shutdown, TcpListener, TcpStream},
    os::fd::AsRawFd,
};

use super::*;
use crate::scene::{eventually, in_own_namespace};

/// Changes as `+`, `-`, `~` and the state, sorted.
fn told(poll: &mut Poll) -> Vec<String> {
    let refresh = poll.refresh().expect("listed");
    let mut told: Vec<String> = refresh
        .changes
        .iter()
        .map(|(_, change)| match change {
            Change::Opened(row) => format!("+ {}", row.state.name()),
            Change::Closed(row) => format!("- {}", row.state.name()),
            Change::Changed { before, after } => {
                format!("~ {} {}", before.state.name(), after.state.name())
            }
        })
        .collect();
    told.sort_unstable();
    told
}

#[test]
fn a_refresh_tells_what_changed_and_nothing_else() {
    for method in MethodName::ALL {
        in_own_namespace(|| {
            let mut poll = Poll::open(method, vec![Place::here()]).expect("it works here");
            assert!(poll.is_empty(), "{method}");
            let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
            assert_eq!(told(&mut poll), ["+ LISTEN"], "{method}");
            let client = TcpStream::connect(listener.local_addr().expect("bound"));
            let (client, server) = (client.expect("connected"), listener.accept());
            assert_eq!(told(&mut poll), ["+ ESTAB", "+ ESTAB"], "{method}");
            assert_eq!(told(&mut poll), Vec::<String>::new(), "{method}");
            client.shutdown(Shutdown::Write).expect("connected");
            eventually("the end is acknowledged", || {
                told(&mut poll).contains(&"~ ESTAB CLOSE-WAIT".to_owned())
            });
            assert_eq!(poll.len(), 3);
            assert!(client.as_raw_fd() > 0, "still open");
            drop((client, server, listener));
            eventually("they end", || told(&mut poll).contains(&"- LISTEN".to_owned()));
        });
    }
}

#[test]
fn a_place_that_is_added_is_listed_and_one_that_is_left_out_is_closed() {
    for method in MethodName::ALL {
        in_own_namespace(|| {
            let mut poll = Poll::open(method, Vec::new()).expect("nothing to open");
            let _listener = TcpListener::bind("127.0.0.1:0").expect("bound");
            assert_eq!(told(&mut poll), Vec::<String>::new(), "{method}");
            assert!(poll.set_places(vec![Place::here()]).is_empty(), "{method}");
            assert_eq!(told(&mut poll), ["+ LISTEN"], "{method}");
            assert!(poll.set_places(vec![Place::here()]).is_empty(), "{method}");
            assert_eq!(told(&mut poll), Vec::<String>::new(), "{method}");
            assert!(poll.set_places(Vec::new()).is_empty(), "{method}");
            assert_eq!(told(&mut poll), ["- LISTEN"], "{method}");
        });
    }
}
