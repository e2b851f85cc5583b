//! Whether `portolan host` has a device.

use portolan_sys::{
    capabilities::{self, CapabilitySet},
    tap,
};

use super::{Finding, Status};

/// A device of each kind; nothing is made.
pub fn find() -> Vec<Finding> {
    vec![by_tap(), by_packet()]
}

fn by_tap() -> Finding {
    let topic = "nic";
    if let Err(error) = tap::open() {
        let refused = format!("{}: {error}", tap::DEVICE);
        return Finding::new(topic, "tap", Status::Refused, refused).advise(
            "modprobe tun, and in a container let it have the device (--device /dev/net/tun); \
             portolan host --nic packet:NAME does without",
        );
    }
    if capabilities::has(CapabilitySet::NET_ADMIN) {
        let what = "portolan host can make an interface to this kernel";
        return Finding::new(topic, "tap", Status::Ok, what);
    }
    let what = "portolan host can use an interface that root has made for this user";
    Finding::new(topic, "tap", Status::Limited, what).advise(
        "run as root, or grant CAP_NET_ADMIN; or: ip tuntap add dev ptl0 mode tap user $USER",
    )
}

fn by_packet() -> Finding {
    let topic = "nic";
    if capabilities::has(CapabilitySet::NET_RAW) {
        let what = "portolan host can use any interface that there is";
        return Finding::new(topic, "packet", Status::Ok, what);
    }
    let what = "portolan host may not read frames of interfaces";
    Finding::new(topic, "packet", Status::Refused, what).advise("run as root, or grant CAP_NET_RAW")
}
