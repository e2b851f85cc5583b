//! Against the kernel: at a quiet moment the table is what a fresh dump says.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    time::Duration,
};

use super::*;
use crate::{
    Places,
    scene::{Program, eventually, in_own_namespace},
};

mod churn;
mod loss;
mod states;

/// All that is followed of a socket but its cookie.
type Known = (Transport, State, SocketAddr, SocketAddr, u32, u32, u32);

fn known(row: &Row) -> Known {
    (row.transport, row.state, row.local, row.remote, row.interface, row.uid, row.inode)
}

fn follow_here() -> Follow {
    Follow::open(vec![Place::here()], FollowOptions::default()).expect("root can trace")
}

/// What follows, by namespace and cookie; those without a cookie by all they are.
fn followed(follow: &Follow) -> BTreeSet<(NetnsId, Known)> {
    let all: Vec<(NetnsId, Known)> =
        follow.rows().map(|(netns, row)| (netns, known(&row))).collect();
    let set: BTreeSet<(NetnsId, Known)> = all.iter().copied().collect();
    // Several sockets may listen at one address, but not with one inode.
    assert_eq!(set.len(), all.len(), "none is there twice");
    set
}

fn dump(places: &[Place]) -> Vec<(NetnsId, Row)> {
    let details = Details { holder: true, cookie: true, ..Details::NONE };
    let mut rows = Vec::new();
    for place in places {
        let mut diag = Diag::open(place).expect("opened");
        for transport in [Transport::Tcp, Transport::Udp] {
            let query = Query { details, ..Query::all(transport) };
            diag.read(&query, &mut |row| rows.push((place.netns, row.clone()))).expect("read");
        }
    }
    rows
}

/// Compares with a dump before and after: sockets that change on their own meanwhile (timers, the
/// kernel's answers) are no fault.
#[track_caller]
fn assert_equal(follow: &mut Follow, places: &[Place], context: &str) -> Refresh {
    let mut changes = Vec::new();
    for _ in 0..50 {
        let before = dump(places);
        let mut refresh = follow.refresh().expect("refreshed");
        changes.append(&mut refresh.changes);
        let after = dump(places);
        let set = |rows: &[(NetnsId, Row)]| -> BTreeSet<(NetnsId, Known)> {
            rows.iter().map(|(netns, row)| (*netns, known(row))).collect()
        };
        if set(&before) != set(&after) {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        }
        let now = followed(follow);
        let missing: Vec<_> = set(&after).difference(&now).copied().collect();
        let wrong: Vec<_> = now.difference(&set(&after)).copied().collect();
        assert!(
            missing.is_empty() && wrong.is_empty(),
            "{context}: missing {missing:?}, wrong {wrong:?}, {refresh:?}"
        );
        assert_cookies(follow, &after, context);
        assert_eq!((refresh.unasked, refresh.left_out), (0, 0), "{context}");
        refresh.changes = changes;
        return refresh;
    }
    panic!("{context}: it never became quiet");
}

/// Half-open connections have none until somebody asks for it.
#[track_caller]
fn assert_cookies(follow: &Follow, rows: &[(NetnsId, Row)], context: &str) {
    let mut cookies: BTreeMap<(NetnsId, Known), u64> = BTreeMap::new();
    cookies.extend(rows.iter().map(|(netns, row)| ((*netns, known(row)), row.cookie)));
    for (netns, row) in follow.rows().filter(|(_, row)| row.cookie != 0) {
        assert_eq!(cookies[&(netns, known(&row))], row.cookie, "{context}: {row:?}");
    }
}

fn own(refresh: &Refresh) -> Vec<&Change> {
    refresh.changes.iter().map(|(_, change)| change).collect()
}

#[test]
fn what_opens_and_closes_is_told_once() {
    in_own_namespace(|| {
        let mut follow = follow_here();
        assert!(follow.is_empty());
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let local = listener.local_addr().expect("bound");
        let refresh = follow.refresh().expect("refreshed");
        let [Change::Opened(row)] = &own(&refresh)[..] else { panic!("{refresh:?}") };
        assert_eq!((row.state, row.local), (State::Listen, local));
        let client = TcpStream::connect(local).expect("connected");
        let refresh = follow.refresh().expect("refreshed");
        assert_eq!(refresh.changes.len(), 2, "{refresh:?}");
        let (server, _) = listener.accept().expect("accepted");
        let refresh = follow.refresh().expect("refreshed");
        let [Change::Changed { before, after }] = &own(&refresh)[..] else { panic!("{refresh:?}") };
        assert_eq!((before.inode, after.local), (0, local));
        assert_ne!(after.inode, 0);
        assert!(follow.refresh().expect("refreshed").changes.is_empty());
        drop(client);
        drop(server);
        let refresh = assert_equal(&mut follow, &[Place::here()], "closed");
        let (gone, waits): (Vec<&Change>, Vec<&Change>) =
            own(&refresh).into_iter().partition(|change| matches!(change, Change::Closed(_)));
        assert_eq!(gone.len(), 1, "{refresh:?}");
        let [Change::Changed { before, after }] = &waits[..] else { panic!("{refresh:?}") };
        assert_eq!((before.state, after.state), (State::Established, State::TimeWait));
    });
}

#[test]
fn udp_is_read_anew() {
    in_own_namespace(|| {
        let mut follow = follow_here();
        let socket = UdpSocket::bind("[::1]:0").expect("bound");
        assert!(matches!(own(&follow.refresh().expect("refreshed"))[..], [Change::Opened(_)]));
        socket.connect(("::1", 53)).expect("connected");
        let refresh = assert_equal(&mut follow, &[Place::here()], "connected");
        assert!(matches!(own(&refresh)[..], [Change::Changed { .. }]), "{refresh:?}");
        drop(socket);
        assert_equal(&mut follow, &[Place::here()], "closed");
        assert!(follow.is_empty());
    });
}

#[test]
fn a_namespace_comes_and_goes() {
    in_own_namespace(|| {
        let mut follow = follow_here();
        let mut other = Program::bash(
            "exec unshare -n perl -e '$| = 1; use Socket; system(qw(ip link set lo up)); \
             socket(L, PF_INET, SOCK_STREAM, 6); listen(L, 5) or die; print qq(listens\\n); \
             <STDIN>; <STDIN>'",
        );
        assert_eq!(other.line(), "listens");
        let Places { places, .. } = crate::places().expect("listed");
        let inode = std::fs::metadata(format!("/proc/{}/ns/net", other.pid())).expect("alive");
        let inode = std::os::unix::fs::MetadataExt::ino(&inode);
        let here = Place::here();
        let wanted = |place: &Place| [here.netns, inode].contains(&place.netns);
        let both: Vec<Place> = places.into_iter().filter(wanted).collect();
        assert_eq!(both.len(), 2);
        assert!(follow.refresh().expect("refreshed").changes.is_empty(), "not followed yet");
        assert!(follow.set_places(both.clone()).is_empty());
        let refresh = assert_equal(&mut follow, &both, "added");
        assert!(matches!(own(&refresh)[..], [Change::Opened(_)]), "{refresh:?}");
        drop(other);
        eventually("it lets go of its socket", || {
            let refresh = follow.refresh().expect("refreshed");
            assert!(refresh.failed.is_empty(), "a followed namespace is alive: {refresh:?}");
            follow.is_empty()
        });
        assert!(follow.set_places(vec![here]).is_empty());
        assert!(follow.refresh().expect("refreshed").changes.is_empty());
    });
}
