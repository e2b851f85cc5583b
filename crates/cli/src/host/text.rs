//! What the host did, for people.

use std::fmt::Write;

use portolan_host::{
    Host,
    stack::{Cidr, buffer::BLOCK_BYTES},
};
use portolan_load::{ServerInterval, ServerSummary};

use super::{HostArgs, device::Told, figures::Figures};
use crate::load::server_text::{per_second, size};

/// What it did, and what its user does next.
pub fn ready(args: &HostArgs, device: &Told, host: &Host) -> String {
    let Told { kind, interface, is_made, .. } = device;
    let addresses = list(args.address.iter());
    let mut out = format!(
        "portolan: {addresses} on {kind}:{interface}, Ethernet address {}, MTU {}",
        mac(host.mac()),
        host.mtu(),
    );
    if !args.serve.is_empty() {
        add(&mut out, format_args!("; serves {}", args.serve.join(" ")));
    }
    if *is_made {
        add(&mut out, format_args!("; {interface} goes when this ends"));
    }
    let first = args.address.iter().map(Cidr::address).next();
    let ping = first.map(|address| format!("ping {address}")).unwrap_or_default();
    if *kind == "tap" && args.peer_address.is_empty() {
        let peers = args.address.iter().filter_map(peer);
        let commands = peers.map(|peer| format!("ip addr add {peer} dev {interface}; "));
        let commands: String = commands.collect();
        add(&mut out, format_args!("\nready; next: {commands}{ping}"));
    } else {
        add(&mut out, format_args!("\nready; next: {ping}"));
    }
    let pid = std::process::id();
    add(&mut out, format_args!("\nkill -USR1 {pid} shows its connections"));
    out
}

/// Another address of the same network, to propose; none where there is none.
pub(super) fn peer(own: &Cidr) -> Option<Cidr> {
    use std::net::IpAddr;
    let bits = if own.address().is_ipv4() { 32 } else { 128 };
    if bits - own.prefix_len() < 2 {
        return None;
    }
    let hosts = u32::from(bits - own.prefix_len());
    let nth = |nth: u128| -> IpAddr {
        match own.address() {
            IpAddr::V4(address) => {
                let network = address.to_bits() & u32::MAX.checked_shl(hosts).unwrap_or(0);
                IpAddr::V4((network | u32::try_from(nth).unwrap_or(1)).into())
            }
            IpAddr::V6(address) => {
                let network = address.to_bits() & u128::MAX.checked_shl(hosts).unwrap_or(0);
                IpAddr::V6((network | nth).into())
            }
        }
    };
    let other = [1, 2].map(nth).into_iter().find(|it| *it != own.address())?;
    Cidr::new(other, own.prefix_len())
}

/// A line about an interval.
pub fn interval(served: &ServerInterval, figures: &Figures) -> String {
    let ServerInterval { seconds, total, .. } = served;
    let rate = |count: u64| per_second(count, *seconds);
    let mut out = format!(
        "{:6.0} s  {}/s frames in  {}/s in  {}/s frames out  {}/s out  {} connections",
        served.begin_seconds + seconds,
        rate(figures.frames_in),
        size(rate(figures.bytes_in)),
        rate(figures.frames_out),
        size(rate(figures.bytes_out)),
        figures.connections,
    );
    for (what, count) in [
        ("accepted", total.accepted),
        ("requests", total.requests),
        ("datagrams", total.datagrams_received),
        ("echoes", figures.count("delivered", "echo")),
    ] {
        if count > 0 {
            add(&mut out, format_args!("  {}/s {what}", rate(count)));
        }
    }
    if figures.blocks > 0 {
        let kib = (figures.blocks * BLOCK_BYTES) >> 10;
        add(&mut out, format_args!("  {kib} KiB in buffers"));
    }
    let cpu = figures.cpu_total().as_secs_f64() / seconds.max(f64::MIN_POSITIVE);
    add(&mut out, format_args!("  CPU {:.0} %", cpu * 100.0));
    for (name, count) in faults(figures) {
        add(&mut out, format_args!("  {count} {name}"));
    }
    out
}

/// What happened until the end.
pub fn summary(served: &ServerSummary, figures: &Figures) -> String {
    let mut out = crate::load::server_text::summary(served);
    add(
        &mut out,
        format_args!(
            "\nframes: {} in ({} bytes), {} out ({} bytes)",
            figures.frames_in, figures.bytes_in, figures.frames_out, figures.bytes_out
        ),
    );
    for group in ["delivered", "dropped", "unsent", "noted", "tcp", "queues"] {
        let counts: Vec<String> =
            figures.group(group).map(|(name, count)| format!("{name} {count}")).collect();
        if !counts.is_empty() {
            add(&mut out, format_args!("\n{group}: {}", counts.join(", ")));
        }
    }
    out
}

/// What one should know of, if it happens.
fn faults(figures: &Figures) -> impl Iterator<Item = (&'static str, u64)> {
    let of = |group: &'static str, names: &'static [&'static str]| {
        names.iter().map(move |name| (*name, figures.count(group, name)))
    };
    let tcp = &["segments_retransmitted", "timeouts", "checksum_wrong", "no_buffer"];
    let tcp = of("tcp", tcp).chain(of("tcp", &["early_discarded"]));
    let queues = of("queues", &["handed_lost", "refused", "link_down"]);
    let lost = of("unsent", &["neighbor_silent", "outbox_full"]);
    let dropped = figures.group("dropped").map(|(_, count)| count).sum();
    let all = tcp.chain(queues).chain(lost).chain([("dropped", dropped)]);
    all.filter(|(_, count)| *count > 0)
}

/// Six bytes, as they are written.
pub fn mac(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

fn list(items: impl Iterator<Item = impl ToString>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = out.write_fmt(text);
}
