//! Where datagrams are seen, and attaching the programs there.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket},
    os::fd::AsRawFd,
    time::Duration,
};

use libbpf_rs::{Link, MapCore, MapFlags, Object};

use crate::{
    Attach, Error, UdpAttach, cgroups,
    object::{attach_program, map},
};

/// How long a datagram may take over loopback.
const PATIENCE: Duration = Duration::from_secs(2);

/// The programs that see datagrams, by where they attach.
pub fn programs(attach: Attach, way: UdpAttach) -> &'static [&'static str] {
    match (way, attach) {
        (UdpAttach::Fentry, _) => &["datagram_sent_v4", "datagram_sent_v6", "datagram_received"],
        // Who sends is told by a program of its own.
        (UdpAttach::CgroupSkb, Attach::Cgroup) => {
            &["datagram_leaves", "datagram_comes", "sends_v4", "sends_v6"]
        }
        (UdpAttach::CgroupSkb, _) => &["datagram_leaves", "datagram_comes"],
    }
}

/// Attaches them: all, or none where one is refused, or does not see what it should.
pub fn attach(object: &Object, attach: Attach, way: UdpAttach) -> Result<Vec<Link>, Error> {
    let programs = programs(attach, way);
    match way {
        UdpAttach::Fentry => {
            let links = programs.iter().map(|name| attach_program(object, name));
            let links = links.collect::<Result<_, _>>()?;
            check(object)?;
            Ok(links)
        }
        UdpAttach::CgroupSkb => cgroups::attach(object, programs),
    }
}

/// Whether datagrams pass there. A compiler that optimizes over files (`CONFIG_LTO_CLANG`) may have
/// put a function into those that call it, and left one that nobody calls.
fn check(object: &Object) -> Result<(), Error> {
    for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
        let failed = Error::system("see a datagram of its own", address.to_string());
        match UdpSocket::bind((address, 0)) {
            Ok(receiver) => exchange(object, &receiver).map_err(failed)?,
            // Where IPv6 is off, IPv4 has to do.
            Err(_) if address.is_ipv6() => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

/// Sends a datagram; a program that sees one remembers its socket.
fn exchange(object: &Object, receiver: &UdpSocket) -> io::Result<()> {
    let at = receiver.local_addr()?;
    let sender = UdpSocket::bind((at.ip(), 0))?;
    sender.connect(at)?;
    // Nobody else's comes here.
    receiver.connect(sender.local_addr()?)?;
    receiver.set_read_timeout(Some(PATIENCE))?;
    sender.send(&[0])?;
    receiver.recv(&mut [0])?;
    let sockets = map(object, "datagram_sockets");
    for (socket, way) in [(&sender, "left"), (receiver, "came")] {
        // From outside, such a map is looked into by descriptor.
        let key = socket.as_raw_fd().to_ne_bytes();
        let known = sockets.lookup(&key, MapFlags::ANY).map_err(io::Error::other)?;
        if known.is_none() {
            let what = format!("it {way} and no program was run: the function is inlined");
            return Err(io::Error::other(what));
        }
    }
    Ok(())
}
