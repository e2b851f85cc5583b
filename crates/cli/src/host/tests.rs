use super::{args::mac, device::Nic, text};

#[test]
fn devices_are_written_with_their_kind() {
    assert_eq!("tap:ptl0".parse(), Ok(Nic::Tap("ptl0".to_owned())));
    assert_eq!("packet:eth0".parse(), Ok(Nic::Packet("eth0".to_owned())));
    for wrong in ["ptl0", "tap:", "xdp:eth0", ""] {
        assert!(wrong.parse::<Nic>().is_err(), "{wrong}");
    }
}

#[test]
fn an_ethernet_address_has_six_bytes() {
    assert_eq!(mac("02:00:5e:00:53:0f"), Ok([2, 0, 0x5e, 0, 0x53, 0x0f]));
    for wrong in ["", "02:00:5e:00:53", "02:00:5e:00:53:0f:1", "2:0:5e:0:53:f", "02:00:5e:00:53:+f"]
    {
        assert!(mac(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn another_address_of_the_network_is_proposed() {
    let peer = |text: &str| text::peer(&text.parse().unwrap()).map(|peer| peer.to_string());
    assert_eq!(peer("192.168.200.10/24").as_deref(), Some("192.168.200.1/24"));
    assert_eq!(peer("192.168.200.1/24").as_deref(), Some("192.168.200.2/24"));
    assert_eq!(peer("fd00:200::10/64").as_deref(), Some("fd00:200::1/64"));
    assert_eq!(peer("10.0.0.9/32"), None);
}
