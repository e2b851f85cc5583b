//! What the kernel says about connections, without making any: a trial connection would leave
//! traces on the map.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use crate::{PATIENCE, place::Place, running::Running};

/// One socket of /proc/net/tcp.
struct Socket {
    local_port: u16,
    remote_port: u16,
    state: u8,
    inode: u64,
}

const ESTABLISHED: u8 = 1;
const LISTEN: u8 = 10;

fn sockets(place: &Place) -> Vec<Socket> {
    let text = place.enter(|| {
        let read = |file| fs::read_to_string(format!("/proc/thread-self/net/{file}"));
        read("tcp").unwrap_or_default() + &read("tcp6").unwrap_or_default()
    });
    text.lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Socket> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let port = |at: usize| u16::from_str_radix(fields.get(at)?.rsplit_once(':')?.1, 16).ok();
    Some(Socket {
        local_port: port(1)?,
        remote_port: port(2)?,
        state: u8::from_str_radix(fields.get(3)?, 16).ok()?,
        inode: fields.get(9)?.parse().ok()?,
    })
}

/// Waits until the program's port accepts connections.
///
/// # Panics
/// When the program ends, or it takes too long.
pub fn wait_listening(place: &Place, server: &mut Running, port: u16) {
    server.wait_for(format_args!("port {port} to listen"), |_| {
        let listens = |socket: &Socket| socket.state == LISTEN && socket.local_port == port;
        sockets(place).iter().any(listens).then_some(())
    });
}

/// Waits until at `server` so many connections to `port` are up and accepted.
///
/// # Panics
/// When that takes too long.
pub fn wait_accepted(server: &Place, port: u16, count: usize) {
    let mut last = 0;
    let deadline = Instant::now() + PATIENCE;
    while last != count {
        assert!(
            Instant::now() < deadline,
            "waited for {count} connections to port {port}, there are {last}"
        );
        thread::sleep(Duration::from_millis(10));
        last = accepted(server, port);
    }
}

/// How many connections to `port` are up and accepted.
#[must_use]
pub fn accepted(server: &Place, port: u16) -> usize {
    let is_up = |socket: &&Socket| {
        // The kernel gives a connection its inode when somebody accepts it.
        socket.state == ESTABLISHED && socket.local_port == port && socket.inode != 0
    };
    sockets(server).iter().filter(is_up).count()
}

/// Waits until a connection of the client's to `port` is up.
///
/// # Panics
/// When the program ends, or it takes too long.
pub fn wait_connected(place: &Place, client: &mut Running, port: u16) {
    client.wait_for(format_args!("a connection to port {port}"), |client| {
        let own = socket_inodes(client.pid());
        let is_up = |socket: &Socket| {
            socket.state == ESTABLISHED
                && socket.remote_port == port
                && own.contains(&format!("socket:[{}]", socket.inode))
        };
        sockets(place).iter().any(is_up).then_some(())
    });
}

/// The sockets that a process has, as its descriptors' links name them.
fn socket_inodes(pid: u32) -> Vec<String> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.map(|link| link.to_string_lossy().into_owned()).collect()
}
