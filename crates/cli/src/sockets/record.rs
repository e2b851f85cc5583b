//! A socket as JSON (docs/formats/socket.md).

use std::net::IpAddr;

use serde::Serialize;

use super::{Listed, args::Config};

/// The version of the record's format.
const VERSION: u32 = 1;

/// One socket. Optional parts are there when their flag was given.
#[derive(Debug, Serialize)]
pub struct SocketRecord<'a> {
    version: u32,
    network_transport: &'static str,
    state: &'static str,
    receive_queue: u32,
    send_queue: u32,
    local_address: IpAddr,
    local_port: u16,
    peer_address: IpAddr,
    peer_port: u16,
    uid: u32,
    inode: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cookie: Option<u64>,
    namespace: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<Option<Process<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timer: Option<Timer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_info: Option<Info>,
}

#[derive(Debug, Serialize)]
struct Process<'a> {
    pid: u32,
    name: &'a str,
    unit: Option<&'a str>,
    container: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Timer {
    name: &'static str,
    expires_ms: u32,
    retransmits: u8,
}

#[derive(Debug, Serialize)]
struct Info {
    rtt_us: u32,
    rtt_variation_us: u32,
    rtt_min_us: Option<u32>,
    retransmit_timeout_us: u32,
    send_mss: u32,
    receive_mss: u32,
    path_mtu: u32,
    congestion_window: u32,
    slow_start_threshold: u32,
    retransmits_total: u32,
    lost: u32,
    bytes_sent: Option<u64>,
    bytes_acked: Option<u64>,
    bytes_received: Option<u64>,
    bytes_retransmitted: Option<u64>,
    delivery_rate: Option<u64>,
}

impl<'a> SocketRecord<'a> {
    /// The record of a listed socket.
    pub fn of(listed: &Listed<'a>, config: &Config) -> Self {
        let row = listed.row;
        let process = listed.holder.map(|holder| Process {
            pid: holder.pid,
            name: &holder.process.name,
            unit: holder.process.unit.as_deref(),
            container: holder.process.container.as_deref(),
        });
        let timer = Timer {
            name: timer_name(row.timer),
            expires_ms: row.expires_ms,
            retransmits: row.retransmits,
        };
        Self {
            version: VERSION,
            network_transport: row.transport.name(),
            state: row.state.name(),
            receive_queue: row.receive_queue,
            send_queue: row.send_queue,
            local_address: row.local.ip(),
            local_port: row.local.port(),
            peer_address: row.remote.ip(),
            peer_port: row.remote.port(),
            uid: row.uid,
            inode: row.inode,
            cookie: (row.cookie != 0).then_some(row.cookie),
            namespace: listed.place.namespace.name(),
            process: config.needs_owners.then_some(process),
            timer: config.columns.timer.then_some(timer),
            tcp_info: row.tcp.as_ref().map(Info::of),
        }
    }
}

impl Info {
    fn of(info: &portolan_sockets::TcpInfo) -> Self {
        // Every field by name, so that a new one is not forgotten here.
        let portolan_sockets::TcpInfo {
            rtt_us,
            rtt_variation_us,
            retransmit_timeout_us,
            send_mss,
            receive_mss,
            path_mtu,
            congestion_window,
            slow_start_threshold,
            retransmits_total,
            lost,
            bytes_acked,
            bytes_received,
            rtt_min_us,
            delivery_rate,
            bytes_sent,
            bytes_retransmitted,
        } = *info;
        Self {
            rtt_us,
            rtt_variation_us,
            rtt_min_us,
            retransmit_timeout_us,
            send_mss,
            receive_mss,
            path_mtu,
            congestion_window,
            slow_start_threshold,
            retransmits_total,
            lost,
            bytes_sent,
            bytes_acked,
            bytes_received,
            bytes_retransmitted,
            delivery_rate,
        }
    }
}

/// The name of a timer by the kernel's number (net/ipv4/inet_diag.c).
pub fn timer_name(timer: u8) -> &'static str {
    match timer {
        0 => "none",
        1 => "retransmit",
        2 => "keepalive",
        3 => "time-wait",
        4 => "zero-window-probe",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests;
