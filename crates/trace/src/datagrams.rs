//! Where datagrams are seen, and attaching the programs there.

use std::{
    fs::File,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket},
    os::fd::AsRawFd,
    time::Duration,
};

use libbpf_rs::{Link, MapCore, MapFlags, Object};

use crate::{
    Error, UdpAttach, cgroups,
    object::{attach_program, map, program, refused},
};

/// How long a datagram may take over loopback.
const PATIENCE: Duration = Duration::from_secs(2);

/// The programs that see datagrams, by where they attach.
pub fn programs(way: UdpAttach) -> &'static [&'static str] {
    match way {
        UdpAttach::Fentry => &["datagram_sent_v4", "datagram_sent_v6", "datagram_received"],
        UdpAttach::CgroupSkb => &["datagram_leaves", "datagram_comes"],
    }
}

/// Attaches them: all, or none where one is refused, or does not see what it should.
pub fn attach(object: &Object, way: UdpAttach) -> Result<Vec<Link>, Error> {
    match way {
        UdpAttach::Fentry => {
            let links = programs(way).iter().map(|name| attach_program(object, name));
            let links = links.collect::<Result<_, _>>()?;
            check(object)?;
            Ok(links)
        }
        UdpAttach::CgroupSkb => attach_to_root(object, programs(way)),
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

/// Attaches to the root of the control groups, which all sockets are below.
fn attach_to_root(object: &Object, names: &[&str]) -> Result<Vec<Link>, Error> {
    let what = "find the unified hierarchy of control groups";
    let place = "/proc/mounts";
    let not_found = || io::Error::new(io::ErrorKind::NotFound, "no cgroup2 is mounted");
    let root = cgroups::root().ok_or_else(|| Error::system(what, place)(not_found()))?;
    // The root of a control group's namespace looks like one, and is not above all sockets.
    if !cgroups::is_whole(&root) {
        let hidden = "only a part of it is visible: this runs in a container";
        let refused = io::Error::new(io::ErrorKind::NotFound, hidden);
        return Err(Error::system(what, root.display().to_string())(refused));
    }
    let file = File::open(&root).map_err(Error::system(what, root.display().to_string()))?;
    let attach = |name: &&str| {
        let link = program(object, name).attach_cgroup(file.as_raw_fd());
        link.map_err(|error| refused(format!("attach {name}"), error))
    };
    names.iter().map(attach).collect()
}
