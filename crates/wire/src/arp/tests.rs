use etherparse::ArpPacketSlice;
use proptest::prelude::*;
use smoltcp::wire::{ArpOperation, ArpPacket, ArpRepr, EthernetAddress};

use super::*;
use crate::generators::{bytes, hardware_address, hex};

/// 10.0.0.1 asks who has 10.0.0.2, in a frame with padding.
const REQUEST_BYTES: &str = "00010800060400010200000000010a0000010000000000000a000002000000";

#[test]
fn reads_a_request() {
    let bytes = hex(REQUEST_BYTES);
    let packet = Packet::parse(&bytes).unwrap();
    assert_eq!(
        packet.repr(),
        Repr {
            operation: Operation::Request,
            sender_hardware: Address([2, 0, 0, 0, 0, 1]),
            sender_protocol: [10, 0, 0, 1].into(),
            target_hardware: Address::default(),
            target_protocol: [10, 0, 0, 2].into(),
        }
    );
    assert_eq!(packet.payload(), [0; 3]);
}

#[test]
fn refuses_what_is_not_ipv4_on_ethernet() {
    for (at, what) in [
        (1, "ARP hardware type"),
        (3, "ARP protocol type"),
        (4, "ARP hardware length"),
        (5, "ARP protocol length"),
        (7, "ARP operation"),
    ] {
        let mut bytes = hex(REQUEST_BYTES);
        bytes[at] = 3;
        let error = Packet::parse(&bytes).unwrap_err();
        assert!(matches!(error, Malformed::Value { what: field, .. } if field == what), "{error}");
    }
    let error = Packet::parse(&hex(REQUEST_BYTES)[..27]).unwrap_err();
    assert_eq!(error, Malformed::Truncated { what: "ARP packet", needed: 28, found: 27 });
}

proptest! {
    #[test]
    fn others_read_what_is_written(is_request: bool, hardware in (hardware_address(),
                                   hardware_address()), protocol: (Ipv4Addr, Ipv4Addr)) {
        let repr = Repr {
            operation: if is_request { Operation::Request } else { Operation::Reply },
            sender_hardware: hardware.0,
            sender_protocol: protocol.0,
            target_hardware: hardware.1,
            target_protocol: protocol.1,
        };
        let mut bytes = [0xee; PACKET_BYTES];
        repr.emit(&mut bytes).unwrap();
        prop_assert_eq!(Packet::parse(&bytes).unwrap().repr(), repr);
        prop_assert!(repr.emit(&mut [0; PACKET_BYTES - 1]).is_err());

        let theirs = ArpRepr::parse(&ArpPacket::new_checked(&bytes[..]).unwrap()).unwrap();
        prop_assert_eq!(theirs, ArpRepr::EthernetIpv4 {
            operation: if is_request { ArpOperation::Request } else { ArpOperation::Reply },
            source_hardware_addr: EthernetAddress(hardware.0.0),
            source_protocol_addr: protocol.0,
            target_hardware_addr: EthernetAddress(hardware.1.0),
            target_protocol_addr: protocol.1,
        });
        let theirs = ArpPacketSlice::from_slice(&bytes).unwrap();
        let theirs = theirs.to_packet().try_eth_ipv4().unwrap();
        prop_assert_eq!(theirs.sender_mac, hardware.0.0);
        prop_assert_eq!(theirs.target_ipv4, protocol.1.octets());
        prop_assert_eq!(theirs.operation.0, if is_request { 1 } else { 2 });
    }

    #[test]
    fn any_bytes_are_read(mut bytes in bytes(40), is_prefixed: bool) {
        if is_prefixed && bytes.len() > 6 {
            bytes[..6].copy_from_slice(&[0, 1, 8, 0, 6, 4]);
        }
        if let Ok(packet) = Packet::parse(&bytes) {
            let mut again = packet.payload().to_vec();
            again.splice(..0, [0; PACKET_BYTES]);
            packet.repr().emit(&mut again).unwrap();
            prop_assert_eq!(again, bytes);
        }
    }
}
