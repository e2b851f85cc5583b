//! A socket as JSON (docs/formats/socket.md).

use std::{net::IpAddr, sync::Arc};

use portolan_sockets::{SocketMemory, TcpInfo};
use serde::{Serialize, Serializer};

use super::{
    Listed,
    columns::{Column, ColumnSet},
    interfaces::Interfaces,
};

/// The version of the record's format.
const VERSION: u32 = 1;

/// One socket. What was not asked for is not there.
#[derive(Debug, Serialize)]
pub struct SocketRecord<'a> {
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    network_transport: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receive_queue: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    send_queue: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    local_address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    local_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inode: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cookie: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interface: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interface_index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    only_v6: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<Option<Process<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timer: Option<Timer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<SocketMemory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_info: Option<TcpInfo>,
}

/// The name of an interface.
#[derive(Debug)]
struct Name(Arc<str>);

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
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

impl<'a> SocketRecord<'a> {
    /// The record of a listed socket: of the columns, those in `shown`.
    pub fn of(listed: &Listed<'a>, shown: ColumnSet, interfaces: &Interfaces) -> Self {
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
        let local_address = shown.has_any(&[Column::Local, Column::LocalAddress]);
        let local_port = shown.has_any(&[Column::Local, Column::LocalPort]);
        let peer_address = shown.has_any(&[Column::Peer, Column::PeerAddress]);
        let peer_port = shown.has_any(&[Column::Peer, Column::PeerPort]);
        // As in text, where it stands behind the address.
        let interface = shown.has_any(&[Column::Local, Column::Interface]);
        let index = Some(row.interface).filter(|&index| interface && index != 0);
        // A part of an object brings all of it.
        let owner = [Column::Process, Column::Pid, Column::Unit, Column::Container];
        let info = [Column::Info, Column::Rtt, Column::Retrans, Column::Cwnd];
        let info = shown.has_any(&info) || shown.has_any(&[Column::Sent, Column::Received]);
        let memory = shown.has_any(&[Column::Memory, Column::Drops]);
        Self {
            version: VERSION,
            network_transport: shown.has(Column::Netid).then_some(row.transport.name()),
            state: shown.has(Column::State).then_some(row.state.name()),
            receive_queue: shown.has(Column::RecvQ).then_some(row.receive_queue),
            send_queue: shown.has(Column::SendQ).then_some(row.send_queue),
            local_address: local_address.then_some(row.local.ip()),
            local_port: local_port.then_some(row.local.port()),
            peer_address: peer_address.then_some(row.remote.ip()),
            peer_port: peer_port.then_some(row.remote.port()),
            uid: shown.has(Column::Uid).then_some(row.uid),
            inode: shown.has(Column::Inode).then_some(row.inode),
            cookie: (shown.has(Column::Cookie) && row.cookie != 0).then_some(row.cookie),
            interface: index.and_then(|index| interfaces.name(index, listed.place)).map(Name),
            interface_index: index,
            only_v6: row.only_v6.filter(|_| local_address),
            namespace: shown.has(Column::Namespace).then(|| listed.place.namespace.name()),
            process: shown.has_any(&owner).then_some(process),
            timer: shown.has(Column::Timer).then_some(timer),
            memory: row.memory.filter(|_| memory),
            tcp_info: row.tcp.filter(|_| info),
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
