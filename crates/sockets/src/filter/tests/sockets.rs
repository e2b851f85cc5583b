//! Sockets of all kinds, on ports that the generated filters know, for tests against the kernel.

use std::{
    io::Read,
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    os::fd::OwnedFd,
    sync::Arc,
};

use portolan_flow::Transport;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::{
    Details, Error, Filter, MethodName, Place, Query, Row, open,
    scene::{Program, eventually},
};

/// Keeps them open.
#[derive(Default)]
pub struct Sockets {
    open: Vec<OwnedFd>,
    programs: Vec<Program>,
}

impl Sockets {
    /// To be called in a namespace of the test's own.
    pub fn set_up() -> Self {
        let mut sockets = Self::default();
        for bound in ["0.0.0.0:22", "127.0.0.1:80", "[::]:443", "[::1]:4444"] {
            let listener = TcpListener::bind(bound).expect("bound");
            sockets.open.push(listener.into());
        }
        for (from, to) in [
            ("127.1.2.3:40000", "127.0.0.1:22"),
            ("127.0.0.1:65534", "127.1.2.3:22"),
            ("127.0.0.1:40000", "127.0.0.1:80"),
            ("127.0.0.1:65535", "127.0.0.1:443"),
            ("127.1.2.3:1", "127.1.2.3:443"),
            ("[::1]:40000", "[::1]:443"),
            ("[::1]:65535", "[::1]:4444"),
            ("[::ffff:127.1.2.3]:65534", "[::ffff:127.0.0.1]:80"),
        ] {
            sockets.connect(from, to);
        }
        sockets.closing("127.0.0.1:4444");
        sockets.closing("[::]:40001");
        sockets.unanswered("127.0.0.1:5000");
        sockets.of_programs();
        for bound in ["0.0.0.0:443", "[::]:5555", "127.0.0.1:22", "[::1]:80"] {
            sockets.open.push(UdpSocket::bind(bound).expect("bound").into());
        }
        for (from, to) in [("127.1.2.3:80", "127.0.0.1:22"), ("[::1]:443", "[::1]:80")] {
            let socket = UdpSocket::bind(from).expect("bound");
            socket.connect(to).expect("connected");
            sockets.open.push(socket.into());
        }
        eventually("the sockets settle", || {
            let rows = all();
            let count = |state| rows.iter().filter(|row| row.state == state).count();
            use crate::State::{
                CloseWait, FinWait2, Listen, NewSynReceived, SynReceived, SynSent, TimeWait,
            };
            count(TimeWait) == 2
                && count(FinWait2) == 2
                && count(CloseWait) == 2
                && count(SynSent) == 1
                && count(NewSynReceived) + count(SynReceived) == 1
                && count(Listen) == 9
        });
        sockets
    }

    /// Nobody accepts the other end: it is in the table all the same.
    fn connect(&mut self, from: &str, to: &str) {
        let (from, to): (SocketAddr, SocketAddr) =
            (from.parse().expect("valid"), to.parse().expect("valid"));
        let socket = bound(from);
        rustix::net::connect(&socket, &to).expect("connected");
        self.open.push(socket);
    }

    /// A connection that is half closed, and one that is over.
    fn closing(&mut self, at: &str) {
        let listener = TcpListener::bind(at).expect("bound");
        let port = listener.local_addr().expect("bound").port();
        let pair = || {
            let client = TcpStream::connect(("127.0.0.1", port)).expect("connected");
            (client, listener.accept().expect("accepted").0)
        };
        let (half, other_half) = pair();
        half.shutdown(std::net::Shutdown::Write).expect("connected");
        let (mut over, other) = pair();
        drop(other);
        assert_eq!(over.read(&mut [0]).expect("the end"), 0);
        drop(over);
        self.open.extend([OwnedFd::from(half), other_half.into(), listener.into()]);
    }

    /// A listener that has no room for a second connection.
    fn unanswered(&mut self, at: &str) {
        let at: SocketAddr = at.parse().expect("valid");
        let listener = bound(at);
        rustix::net::listen(&listener, 0).expect("listening");
        let first = TcpStream::connect(at).expect("connected");
        let second = bound("127.0.0.1:0".parse().expect("valid"));
        rustix::io::ioctl_fionbio(&second, true).expect("a socket");
        let answer = rustix::net::connect(&second, &at);
        assert_eq!(answer, Err(rustix::io::Errno::INPROGRESS));
        self.open.extend([listener, first.into(), second]);
    }

    /// A half-open connection, a listener of another user, and a socket of one interface.
    fn of_programs(&mut self) {
        for script in [
            "socket(L, PF_INET, SOCK_STREAM, 6); setsockopt(L, 6, 9, pack('i', 60)) or die; \
             bind(L, sockaddr_in(5001, INADDR_LOOPBACK)) or die; listen(L, 5);",
            "$> = 65534; socket(L, PF_INET, SOCK_STREAM, 6); \
             bind(L, sockaddr_in(5555, INADDR_LOOPBACK)) or die; listen(L, 5);",
            "socket(L, PF_INET, SOCK_DGRAM, 17); setsockopt(L, 1, 25, qq(lo\\0)) or die; \
             bind(L, sockaddr_in(4444, INADDR_LOOPBACK)) or die;",
        ] {
            let mut program = Program::perl(&format!("{script} print(qq(ready\\n))"));
            assert_eq!(program.line(), "ready");
            self.programs.push(program);
        }
        let client = TcpStream::connect("127.0.0.1:5001").expect("connected");
        self.open.push(client.into());
    }
}

fn bound(to: SocketAddr) -> OwnedFd {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let socket = socket.expect("a socket");
    rustix::net::bind(&socket, &to).expect("bound");
    socket
}

pub fn try_list(
    method: MethodName,
    transport: Transport,
    filter: Option<&Filter>,
) -> Result<Vec<Row>, Error> {
    let filter = filter.cloned().map(Arc::new);
    let details = Details { holder: true, ..Details::default() };
    let query = Query { details, filter, ..Query::all(transport) };
    let mut rows = Vec::new();
    let mut reader = open(method, &Place::here()).expect("opened");
    let coverage = reader.read(&query, &mut |row| rows.push(row.clone()))?;
    assert_eq!((coverage.rows, coverage.skipped), (rows.len() as u64, 0), "{method}");
    Ok(rows)
}

pub fn list(method: MethodName, filter: Option<&Filter>) -> Vec<Row> {
    let mut rows = try_list(method, Transport::Tcp, filter).expect("listed");
    rows.extend(try_list(method, Transport::Udp, filter).expect("listed"));
    rows
}

/// All sockets, as the kernel tells of them without a filter.
pub fn all() -> Vec<Row> {
    list(MethodName::Diag, None)
}
