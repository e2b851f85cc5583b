//! Which source port a connection gets: chosen here, not searched for by the kernel.
//!
//! The kernel's search takes 1.5 ms a connection once half of the range to one destination is in
//! use: since Linux 4.2, `connect(2)` looks at all even ports before it looks at any odd one
//! (`__inet_hash_connect` in net/ipv4/inet_hashtables.c). `bind(2)` to port 0 is the same with odd
//! and even exchanged (`inet_csk_find_open_port` in net/ipv4/inet_connection_sock.c).
//! `portolan load ports` shows both on a host of one's own.
//!
//! What is here for those who open many connections, in any program:
//!
//! - [`Host::read`] knows the range, the reserved ports and the listeners;
//! - [`choose`] says which [`Strategy`] it is to be, and why;
//! - [`SourcePorts`] hands out ports in constant time, for each pair of source address and
//!   destination on its own: what has been used comes last, when its TIME-WAIT is most likely over
//!   or may be reused (after a second on loopback, `tcp_twsk_unique` in net/ipv4/tcp_ipv4.c), and
//!   so does what the kernel said is taken;
//! - [`Source::bind`] prepares a socket;
//! - [`Watch`] tells from the times of `connect(2)` that the search has become slow.
//!
//! ```
//! use std::net::{IpAddr, Ipv4Addr};
//! use portolan_load::source_ports::{End, Host, SourcePorts, Wish, choose, has_range};
//! use rustix::net::{AddressFamily, SocketType, connect, socket};
//!
//! let server = std::net::TcpListener::bind("127.0.0.2:0")?;
//! let destination = server.local_addr()?;
//! let host = Host::read();
//! let choice = choose(&Wish::default(), &host, has_range(&host)?).map_err(std::io::Error::other)?;
//! let mut ports = SourcePorts::new(&choice, &host, 0, 1);
//! let pair = ports.pair(IpAddr::V4(Ipv4Addr::LOCALHOST), destination, 12_345);
//!
//! let connection = loop {
//!     let lease = ports.take(pair).expect("there are ports left");
//!     let connection = socket(AddressFamily::INET, SocketType::STREAM, None)?;
//!     let bound = lease.source().bind(&connection);
//!     match bound.and_then(|()| connect(&connection, &destination)) {
//!         Ok(()) => break (connection, lease),
//!         // Somebody else has it: it is remembered, and the next one is tried.
//!         Err(_) => ports.give_back(lease, End::Conflict),
//!     }
//! };
//! assert_eq!(ports.occupancy(pair).in_use, 1);
//! let (connection, lease) = connection;
//! drop(connection);
//! ports.give_back(lease, End::TimeWait);
//! assert_eq!(ports.occupancy(pair).in_use, 0);
//! # Ok::<(), std::io::Error>(())
//! ```

mod advice;
mod allocator;
mod choice;
mod host;
mod pair;
mod set;
mod source;

pub use advice::{Advice, Watch};
pub use allocator::{Lease, Occupancy, PairId, SourcePorts, share_range};
pub use choice::{Choice, Strategy, Wish, choose, has_range};
pub use host::{Host, parse_reserved};
pub use pair::End;
pub use source::Source;
