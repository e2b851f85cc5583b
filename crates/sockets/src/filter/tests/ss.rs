//! ss(8) and this crate want the same sockets of the same filters.

use std::{
    io::{ErrorKind, Write as _},
    net::{IpAddr, Ipv6Addr, SocketAddr},
    path::Path,
    process::Command,
};

use portolan_flow::Transport;

use super::sockets::{Sockets, try_list};
use crate::{Filter, HostNames, MethodName, Row, scene::in_own_namespace};

/// In the words that both read: ss wants blanks around signs, and its `and` and `or` bind alike.
const FILTERS: [&str; 70] = [
    "state all",
    "state established",
    "state listening",
    "state time-wait",
    "state syn-sent",
    "state syn-recv",
    "state fin-wait-2 state close-wait",
    "state unconnected",
    "state closed",
    "state connected",
    "state synchronized",
    "state bucket",
    "state big",
    "exclude listening",
    "exclude connected",
    "exclude bucket exclude established",
    "state connected exclude synchronized",
    "state all sport = :22",
    "state all sport = 22",
    "state all sport = :ssh",
    "state all dport eq :https",
    "state all dport != :22",
    "state all sport >= :1024",
    "state all sport geq :1024",
    "state all dport lt :1024",
    "state all dport < :443",
    "state all sport gt :443",
    "state all dport <= :443",
    "state all dport neq :0",
    "state all src 127.0.0.1",
    "state all src = 127.0.0.1:443",
    "state all src 127.0.0.0/8",
    "state all dst 127/8",
    "state all dst 127.1.2/24",
    "state all src 127.0.0.1:ssh",
    "state all src :443",
    "state all src *:443",
    "state all dst :0",
    "state all dst [::1]",
    "state all dst [::1]:443",
    "state all src [::]",
    "state all src [::ffff:127.0.0.1]",
    "state all src [::ffff:0:0/96]",
    "state all src [fe80::/10]",
    "state all src 0.0.0.0",
    "state all dst 10.0.0.0/8",
    "state established ( dport = :ssh or sport = :ssh )",
    "state fin-wait-2 ( sport = :4444 or dport = :4444 ) dst 127/8",
    "state all sport = :22 and dport = :40000",
    "state all sport = :22 && dport != :40000",
    "state all sport = :22 & not dport = :40000",
    "state all sport = :22 | sport = :80 || sport = :443",
    "state all ! ( sport = :22 or sport = :80 )",
    "state all not src 127.0.0.0/8",
    "state all dev = lo",
    "state all dev != 1 sport = :4444",
    "state all src any",
    "state all dst any:443",
    "state all not src any",
    "state all dport = :*",
    "state all sport != :*",
    "state all src inet:127.0.0.1",
    "state all src inet:127.0.0.0/8 sport = :443",
    "state all dst inet:any",
    "state all dst inet:*:443",
    "state all src inet6:*",
    "state all src inet6:[::1]",
    "state all src inet6:[::1]:443",
    "state all dst inet6:[::ffff:0:0/96]",
    "state all src inet6:[::]",
];

type Pair = (IpAddr, u16, IpAddr, u16);

fn end(text: &str) -> (IpAddr, u16) {
    let (address, port) = text.rsplit_once(':').expect("a port");
    // With `%` follows the interface, which has a filter of its own.
    let address = address.trim_matches(['[', ']']).split('%').next().expect("one");
    let address = address.trim_end_matches(']');
    let address = match address {
        "*" => Ipv6Addr::UNSPECIFIED.into(),
        address => address.parse().expect("an address"),
    };
    (address, if port == "*" { 0 } else { port.parse().expect("a number") })
}

/// `None` where there is no ss.
fn of_ss(transport: Transport, filter: &str) -> Option<Vec<Pair>> {
    let table = if transport == Transport::Tcp { "-Htna" } else { "-Huna" };
    let output = match Command::new("ss").arg(table).args(filter.split(' ')).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        output => output.expect("ran"),
    };
    assert!(output.status.success() && output.stderr.is_empty(), "{filter}: {output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let pair = |line: &str| {
        // The first column, the state, is not there where the filter wants one state only.
        let mut words = line.split_whitespace().rev().map(end);
        let (remote, local) = (words.next().expect("a peer"), words.next().expect("an address"));
        (local.0, local.1, remote.0, remote.1)
    };
    let mut pairs: Vec<Pair> = text.lines().map(pair).collect();
    pairs.sort_unstable();
    Some(pairs)
}

fn of_ours(method: MethodName, transport: Transport, filter: &Filter) -> Vec<Pair> {
    let rows = try_list(method, transport, Some(filter)).expect("listed");
    let pair = |row: &Row| {
        let end = |socket: SocketAddr| (socket.ip(), socket.port());
        let (local, remote) = (end(row.local), end(row.remote));
        (local.0, local.1, remote.0, remote.1)
    };
    let mut pairs: Vec<Pair> = rows.iter().map(pair).collect();
    pairs.sort_unstable();
    pairs
}

/// It looks up services of that transport only, and those of this test are TCP's.
fn ss_knows_names(transport: Transport) -> bool {
    transport == Transport::Tcp && Path::new("/etc/services").exists()
}

#[test]
fn the_same_sockets_as_ss() {
    in_own_namespace(|| {
        let _sockets = Sockets::set_up();
        for text in FILTERS {
            let filter = Filter::parse_with(text, &HostNames::read()).expect(text);
            for transport in [Transport::Tcp, Transport::Udp] {
                if !ss_knows_names(transport)
                    && [":ssh", ":http"].iter().any(|name| text.contains(name))
                {
                    continue;
                }
                let Some(theirs) = of_ss(transport, text) else {
                    // Not through the macro, whose output the test harness keeps to itself.
                    let _ = writeln!(std::io::stderr(), "skipped: the_same_sockets_as_ss: no ss");
                    return;
                };
                for method in MethodName::ALL {
                    if method == MethodName::Diag || !filter.asks_for_interface() {
                        let ours = of_ours(method, transport, &filter);
                        assert_eq!(ours, theirs, "{method} {transport}: {text}");
                    }
                }
            }
        }
    });
}
