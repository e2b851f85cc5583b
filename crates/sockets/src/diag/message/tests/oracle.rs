//! The second implementation: what it writes, and what it reads as a [`Row`].

use std::time::Duration;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_sock_diag::{
    SockDiagMessage,
    inet::{
        ExtensionFlags, InetRequest, InetResponse, InetResponseHeader, SocketId, StateFlags, Timer,
        nlas::{MemInfo, Nla, TcpInfo as Measured},
    },
};
use proptest::{option, prelude::*, sample::select};

use super::super::*;
use crate::{SocketId as DestroyedSocket, SocketMemory, TcpInfo};

pub fn message(sequence: u32, flags: u16, payload: NetlinkPayload<SockDiagMessage>) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    header.sequence_number = sequence;
    let mut message = NetlinkMessage::new(header, payload);
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

pub fn encode(request: &Request) -> Vec<u8> {
    let (family, socket_id) = match request.family {
        Family::V4 => (2, SocketId::new_v4()),
        Family::V6 => (10, SocketId::new_v6()),
        Family::Both => unreachable!("the second implementation has no such request"),
    };
    let mut extensions = ExtensionFlags::empty();
    extensions.set(ExtensionFlags::INFO, request.query.details.tcp_info);
    extensions.set(ExtensionFlags::SKMEMINFO, request.query.details.memory);
    let inner = InetRequest {
        family,
        protocol: if request.query.transport == Transport::Tcp { 6 } else { 17 },
        extensions,
        states: StateFlags::from_bits_retain(request.query.states.bits()),
        socket_id,
    };
    let payload = NetlinkPayload::InnerMessage(SockDiagMessage::InetRequest(inner));
    message(request.sequence, NLM_F_REQUEST | NLM_F_DUMP, payload)
}

/// The request to close `socket` as the second implementation would write it, which knows no such
/// request: as one for that socket, with the type and the flags of this one.
pub fn encode_destroy(socket: &DestroyedSocket, sequence: u32) -> Vec<u8> {
    let inner = InetRequest {
        family: if socket.local.is_ipv4() { 2 } else { 10 },
        protocol: if socket.transport == Transport::Tcp { 6 } else { 17 },
        extensions: ExtensionFlags::empty(),
        states: StateFlags::empty(),
        socket_id: SocketId {
            source_port: socket.local.port(),
            destination_port: socket.remote.port(),
            source_address: socket.local.ip(),
            destination_address: socket.remote.ip(),
            interface_id: socket.interface,
            cookie: socket.cookie.to_ne_bytes(),
        },
    };
    let payload = NetlinkPayload::InnerMessage(SockDiagMessage::InetRequest(inner));
    let mut bytes = message(sequence, NLM_F_REQUEST | NLM_F_ACK, payload);
    bytes[4..6].copy_from_slice(&21_u16.to_ne_bytes());
    bytes
}

pub fn encode_row(row: &Row, sequence: u32) -> Vec<u8> {
    let expires = Duration::from_millis(u64::from(row.expires_ms));
    let header = InetResponseHeader {
        family: if row.local.is_ipv4() { 2 } else { 10 },
        state: row.state as u8,
        timer: match row.timer {
            1 => Some(Timer::Retransmit(expires, row.retransmits)),
            2 => Some(Timer::KeepAlive(expires)),
            3 => Some(Timer::TimeWait),
            4 => Some(Timer::Probe(expires)),
            _ => None,
        },
        socket_id: SocketId {
            source_port: row.local.port(),
            destination_port: row.remote.port(),
            source_address: row.local.ip(),
            destination_address: row.remote.ip(),
            interface_id: row.interface,
            cookie: row.cookie.to_ne_bytes(),
        },
        recv_queue: row.receive_queue,
        send_queue: row.send_queue,
        uid: row.uid,
        inode: row.inode,
    };
    // Others surround it, as the kernel sends them.
    let mut nlas = vec![Nla::Shutdown(3), Nla::Congestion("cubic".to_owned())];
    nlas.extend(row.tcp.as_ref().map(|tcp| Nla::TcpInfo(measured(tcp))));
    nlas.extend(row.memory.as_ref().map(|memory| Nla::MemInfo(mem_info(memory))));
    nlas.extend(row.only_v6.map(Nla::SkV6Only));
    nlas.push(Nla::ClassId(9));
    let inner = InetResponse { header, nlas: nlas.into_iter().collect() };
    let inner = SockDiagMessage::InetResponse(Box::new(inner));
    message(sequence, 0, NetlinkPayload::InnerMessage(inner))
}

pub fn row_bytes(row: &Row) -> usize {
    encode_row(row, 0).len()
}

/// A [`Measured`] of zeros, which has no constructor.
fn nothing_measured() -> Measured {
    Measured::parse(&[0; 512]).expect("long enough")
}

pub fn measured(tcp: &TcpInfo) -> Measured {
    Measured {
        rto: tcp.retransmit_timeout_us,
        snd_mss: tcp.send_mss,
        rcv_mss: tcp.receive_mss,
        lost: tcp.lost,
        pmtu: tcp.path_mtu,
        rtt: tcp.rtt_us,
        rttvar: tcp.rtt_variation_us,
        snd_ssthresh: tcp.slow_start_threshold,
        snd_cwnd: tcp.congestion_window,
        total_retrans: tcp.retransmits_total,
        bytes_acked: tcp.bytes_acked.unwrap_or(0),
        bytes_received: tcp.bytes_received.unwrap_or(0),
        min_rtt: tcp.rtt_min_us.unwrap_or(u32::MAX),
        delivery_rate: tcp.delivery_rate.unwrap_or(0),
        bytes_sent: tcp.bytes_sent.unwrap_or(0),
        bytes_retrans: tcp.bytes_retransmitted.unwrap_or(0),
        ..nothing_measured()
    }
}

fn tcp_info(measured: &Measured) -> TcpInfo {
    TcpInfo {
        rtt_us: measured.rtt,
        rtt_variation_us: measured.rttvar,
        retransmit_timeout_us: measured.rto,
        send_mss: measured.snd_mss,
        receive_mss: measured.rcv_mss,
        path_mtu: measured.pmtu,
        congestion_window: measured.snd_cwnd,
        slow_start_threshold: measured.snd_ssthresh,
        retransmits_total: measured.total_retrans,
        lost: measured.lost,
        bytes_acked: Some(measured.bytes_acked),
        bytes_received: Some(measured.bytes_received),
        rtt_min_us: Some(measured.min_rtt).filter(|&rtt| rtt != u32::MAX),
        delivery_rate: Some(measured.delivery_rate),
        bytes_sent: Some(measured.bytes_sent),
        bytes_retransmitted: Some(measured.bytes_retrans),
    }
}

fn mem_info(memory: &SocketMemory) -> MemInfo {
    MemInfo {
        receive_queue: memory.receive_queue_bytes,
        receive_queue_max: memory.receive_limit_bytes,
        bottom_send_queues: memory.handed_down_bytes,
        send_queue: memory.send_queue_bytes,
        send_queue_max: memory.send_limit_bytes,
        cache: memory.reserved_bytes,
        options: memory.option_bytes,
        backlog_queue_length: memory.backlog_bytes.unwrap_or(0),
        drops: memory.drops.unwrap_or(0),
    }
}

fn socket_memory(memory: &MemInfo) -> SocketMemory {
    SocketMemory {
        receive_queue_bytes: memory.receive_queue,
        receive_limit_bytes: memory.receive_queue_max,
        send_queue_bytes: memory.send_queue,
        send_limit_bytes: memory.send_queue_max,
        handed_down_bytes: memory.bottom_send_queues,
        reserved_bytes: memory.cache,
        option_bytes: memory.options,
        backlog_bytes: Some(memory.backlog_queue_length),
        drops: Some(memory.drops),
    }
}

/// The socket in the first message of `bytes`, if it is one, and the length of the message.
pub fn decode_row(bytes: &[u8], transport: Transport) -> (Option<Row>, usize) {
    let message: NetlinkMessage<SockDiagMessage> =
        NetlinkMessage::deserialize(bytes).expect("well-formed");
    let length = usize::try_from(message.header.length).expect("small").next_multiple_of(4);
    let NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(inner)) = message.payload else {
        return (None, length);
    };
    let InetResponse { header, nlas } = *inner;
    let millis = |expires: Duration| u32::try_from(expires.as_millis()).expect("fits");
    let (timer, expires_ms, retransmits) = match header.timer {
        None => (0, 0, 0),
        Some(Timer::Retransmit(expires, retransmits)) => (1, millis(expires), retransmits),
        Some(Timer::KeepAlive(expires)) => (2, millis(expires), 0),
        // The second implementation drops when TIME-WAIT ends.
        Some(Timer::TimeWait) => (3, 0, 0),
        Some(Timer::Probe(expires)) => (4, millis(expires), 0),
    };
    let id = header.socket_id;
    let row = Row {
        transport,
        state: State::from_kernel(header.state).expect("a known state"),
        local: SocketAddr::new(id.source_address, id.source_port),
        remote: SocketAddr::new(id.destination_address, id.destination_port),
        interface: id.interface_id,
        only_v6: nlas.iter().find_map(|nla| match nla {
            Nla::SkV6Only(only) => Some(*only),
            _ => None,
        }),
        receive_queue: header.recv_queue,
        send_queue: header.send_queue,
        uid: header.uid,
        inode: header.inode,
        cookie: u64::from_ne_bytes(id.cookie),
        retransmits,
        timer,
        expires_ms,
        tcp: nlas.iter().find_map(|nla| match nla {
            Nla::TcpInfo(measured) => Some(tcp_info(measured)),
            _ => None,
        }),
        memory: nlas.iter().find_map(|nla| match nla {
            Nla::MemInfo(memory) => Some(socket_memory(memory)),
            _ => None,
        }),
    };
    (Some(row), length)
}

prop_compose! {
    fn measurements()(words: [u32; 10], min in 0..u32::MAX, longs: [u64; 5]) -> TcpInfo {
        TcpInfo {
            rtt_us: words[0],
            rtt_variation_us: words[1],
            retransmit_timeout_us: words[2],
            send_mss: words[3],
            receive_mss: words[4],
            path_mtu: words[5],
            congestion_window: words[6],
            slow_start_threshold: words[7],
            retransmits_total: words[8],
            lost: words[9],
            bytes_acked: Some(longs[0]),
            bytes_received: Some(longs[1]),
            rtt_min_us: Some(min),
            delivery_rate: Some(longs[2]),
            bytes_sent: Some(longs[3]),
            bytes_retransmitted: Some(longs[4]),
        }
    }
}

fn memories() -> impl Strategy<Value = SocketMemory> {
    any::<[u32; 9]>().prop_map(|words| SocketMemory {
        receive_queue_bytes: words[0],
        receive_limit_bytes: words[1],
        send_queue_bytes: words[2],
        send_limit_bytes: words[3],
        handed_down_bytes: words[4],
        reserved_bytes: words[5],
        option_bytes: words[6],
        backlog_bytes: Some(words[7]),
        drops: Some(words[8]),
    })
}

fn addresses() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
    let v4 = any::<[(u32, u16); 2]>()
        .prop_map(|ends| ends.map(|(bits, port)| SocketAddr::from((Ipv4Addr::from(bits), port))));
    let global = |bits: u128| Ipv6Addr::from(bits | 1 << 127 | 1 << 64 & !(1 << 126));
    let v6 = any::<[(u128, u16); 2]>()
        .prop_map(move |ends| ends.map(|(bits, port)| SocketAddr::from((global(bits), port))))
        .prop_filter("link-local has a scope", |ends| {
            ends.iter()
                .all(|end| matches!(end, SocketAddr::V6(v6) if !v6.ip().is_unicast_link_local()))
        });
    prop_oneof![v4, v6].prop_map(|[local, remote]| (local, remote))
}

prop_compose! {
    /// A TCP socket that the second implementation can say everything about.
    pub fn rows()(
        state in select(&State::ALL),
        (local, remote) in addresses(),
        (interface, receive_queue, send_queue, uid, inode, expires) in any::<[u32; 6]>()
            .prop_map(|words| (words[0], words[1], words[2], words[3], words[4], words[5])),
        cookie: u64,
        only_v6: Option<bool>,
        retransmits: u8,
        timer in 0..5_u8,
        tcp in option::of(measurements()),
        memory in option::of(memories()),
    ) -> Row {
        Row {
            transport: Transport::Tcp,
            state,
            local,
            remote,
            interface,
            only_v6: only_v6.filter(|_| local.is_ipv6()),
            receive_queue,
            send_queue,
            uid,
            inode,
            cookie: if cfg!(target_endian = "little") { cookie } else { cookie.rotate_left(32) },
            retransmits: if timer == 1 { retransmits } else { 0 },
            timer,
            expires_ms: if matches!(timer, 1 | 2 | 4) { expires } else { 0 },
            tcp,
            memory,
        }
    }
}
