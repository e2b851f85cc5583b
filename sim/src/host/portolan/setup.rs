//! A stack as a scenario wants it.

use std::time::Duration;

use portolan_stack::{
    Cidr, Config, Instant, Offloads, Stack,
    tcp::{self, EcnUse, congestion::Algorithm},
};

use crate::{
    host::{Setup, address, mac},
    random::Random,
};

/// The stack of the host of this number.
pub(super) fn stack(number: usize, ipv6: bool, setup: &Setup, now: Instant) -> Stack {
    let mut random = Random::new(setup.secret, "stack");
    let mut secret = [0; 32];
    for bytes in secret.chunks_mut(8) {
        bytes.copy_from_slice(&random.draw().to_le_bytes());
    }
    let address = Cidr::new(address(number, ipv6), if ipv6 { 64 } else { 24 });
    let offloads = Offloads {
        checksum: setup.device_checksums || setup.device_segments > 0,
        segment_bytes_max: setup.device_segments,
    };
    let usual = Config::new(mac(number).0, address.into_iter().collect(), secret);
    let mtu = u16::try_from(setup.mtu).unwrap_or(u16::MAX);
    let made = Stack::new(Config { mtu, offloads, tcp: config(setup), ..usual }, now);
    made.unwrap_or_else(|error| panic!("the scenario's host {number} cannot be: {error}"))
}

fn config(setup: &Setup) -> tcp::Config {
    let usual = tcp::Config::default();
    tcp::Config {
        blocks_max: if setup.blocks > 0 { setup.blocks } else { usual.blocks_max },
        send_buffer_bytes: u32::try_from(setup.send_bytes).unwrap_or(u32::MAX),
        receive_buffer_bytes: u32::try_from(setup.receive_bytes).unwrap_or(u32::MAX),
        congestion: if setup.newreno { Algorithm::NewReno } else { Algorithm::Cubic },
        sack: setup.sack,
        timestamps: setup.timestamps,
        syn_cookies: setup.cookies,
        keepalive: setup.keepalive.map(|keepalive| tcp::Keepalive {
            idle: Duration::from_micros(keepalive.idle_us),
            interval: Duration::from_micros(keepalive.interval_us),
            probes: keepalive.probes,
        }),
        ecn: if setup.ecn { EcnUse::Active } else { EcnUse::Passive },
        ..usual
    }
}
