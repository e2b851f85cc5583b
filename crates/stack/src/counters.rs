//! What happened, counted: every frame that came is either delivered or dropped for a reason.

macro_rules! kinds {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $kind:ident => $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$doc])* $kind,)* }

        impl $name {
            /// All of them, in the order in which they are declared.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];
            const COUNT: usize = Self::ALL.len();

            /// Its name in reports: lower case, words joined by underscores.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $text,)* }
            }
        }
    };
}

kinds! {
    /// What became of a frame that was taken.
    Delivered {
        /// An ARP packet was read.
        Arp => "arp",
        /// A message of neighbour discovery was read.
        Ndp => "ndp",
        /// A message of multicast listener discovery was read.
        Mld => "mld",
        /// An echo request was answered.
        Echo => "echo",
        /// An ICMP error was handed to the one who caused it.
        IcmpError => "icmp_error",
        /// A datagram waits for its reader.
        Udp => "udp",
        /// A segment was given to TCP.
        Tcp => "tcp",
        /// A fragment waits for the others.
        Fragment => "fragment",
    }
}

kinds! {
    /// Why a frame that arrived was dropped.
    Dropped {
        /// The Ethernet header is cut.
        EthernetMalformed => "ethernet_malformed",
        /// It came from a multicast hardware address.
        EthernetSource => "ethernet_source",
        /// It is for another hardware address, or a group that this host is not in.
        EthernetDestination => "ethernet_destination",
        /// It is of a VLAN.
        Vlan => "vlan",
        /// It is neither ARP nor IP, or of an IP version without an address here.
        EtherTypeUnknown => "ethertype_unknown",
        /// The ARP packet is malformed.
        ArpMalformed => "arp_malformed",
        /// The sender of the ARP packet has an address that no host has.
        ArpSender => "arp_sender",
        /// Another host uses an address of this one: RFC 5227.
        ArpConflict => "arp_conflict",
        /// The ARP packet is about others.
        ArpNotForUs => "arp_not_for_us",
        /// The IP header is malformed.
        IpMalformed => "ip_malformed",
        /// The checksum of the IPv4 header is wrong.
        IpChecksum => "ip_checksum",
        /// No packet may have such a source address: RFC 1122, section 3.2.1.3.
        IpSource => "ip_source",
        /// The source address is one of this host's own.
        IpSourceOwn => "ip_source_own",
        /// The packet is for another host; nothing is forwarded.
        IpDestination => "ip_destination",
        /// The packet is for one host, but the frame was for many: RFC 1122, section 3.3.6.
        IpLinkBroadcast => "ip_link_broadcast",
        /// The packet has a source route, or a routing header that is not at its end.
        SourceRoute => "source_route",
        /// The options of the IPv4 header, or those of an IPv6 extension header, are malformed or
        /// forbid to go on.
        IpOptions => "ip_options",
        /// An IPv6 extension header is malformed, or there are too many.
        ExtensionMalformed => "extension_malformed",
        /// Nobody here knows the protocol.
        ProtocolUnknown => "protocol_unknown",
        /// IPv6 says that nothing follows.
        NothingFollows => "nothing_follows",
        /// The fragment has a length or place that it cannot have.
        FragmentMalformed => "fragment_malformed",
        /// The fragment cuts the upper layer's header: RFC 1858, RFC 7112.
        FragmentTiny => "fragment_tiny",
        /// The fragment overlaps others, or its datagram had such: RFC 5722.
        FragmentOverlap => "fragment_overlap",
        /// There is no room for the fragment.
        FragmentLimit => "fragment_limit",
        /// The fragment was there before.
        FragmentDuplicate => "fragment_duplicate",
        /// The ICMP message is malformed.
        IcmpMalformed => "icmp_malformed",
        /// The checksum of the ICMP message is wrong.
        IcmpChecksum => "icmp_checksum",
        /// The ICMP message is of a kind that is ignored.
        IcmpIgnored => "icmp_ignored",
        /// An echo request to a broadcast address: RFC 1122, section 3.2.2.6.
        EchoBroadcast => "echo_broadcast",
        /// There was no room for the answer to an echo request.
        EchoNoRoom => "echo_no_room",
        /// The ICMP error is about nothing that this host sent: RFC 5927.
        IcmpErrorForged => "icmp_error_forged",
        /// A redirect, which is ignored.
        Redirect => "redirect",
        /// The message of neighbour discovery is malformed, or in a packet that may not carry it.
        NdpMalformed => "ndp_malformed",
        /// Another host uses an address of this one: RFC 4862.
        NdpConflict => "ndp_conflict",
        /// The message of neighbour discovery is about others, or for routers.
        NdpNotForUs => "ndp_not_for_us",
        /// The message of multicast listener discovery is malformed, or in a packet that may not
        /// carry it.
        MldMalformed => "mld_malformed",
        /// The message of multicast listener discovery is for routers.
        MldNotForUs => "mld_not_for_us",
        /// The UDP header is malformed.
        UdpMalformed => "udp_malformed",
        /// The checksum of the datagram is wrong, or lacks over IPv6.
        UdpChecksum => "udp_checksum",
        /// Nobody reads on the port.
        UdpPort => "udp_port",
        /// The port's reader is late, and its queue full.
        UdpQueueFull => "udp_queue_full",
        /// A TCP segment that was not for one host alone: RFC 9293, section 3.9.2.3.
        TcpNotUnicast => "tcp_not_unicast",
    }
}

kinds! {
    /// Why something that was to leave did not.
    Unsent {
        /// There is no route to the destination, or no address to send from.
        NoRoute => "no_route",
        /// The neighbour does not answer.
        NeighborSilent => "neighbor_silent",
        /// Too many packets wait for neighbours.
        NeighborWaitingFull => "neighbor_waiting_full",
        /// The table of neighbours is full.
        NeighborsFull => "neighbors_full",
        /// Too much waits for the device.
        OutboxFull => "outbox_full",
        /// An ICMP error would have been one too many: RFC 4443, section 2.4 (f).
        IcmpErrorLimit => "icmp_error_limit",
        /// An ICMP error that must not be sent: RFC 1122, section 3.2.2.
        IcmpErrorForbidden => "icmp_error_forbidden",
        /// The buffer for a frame is too short, or the packet too long for its header.
        Buffer => "buffer",
    }
}

kinds! {
    /// What else is worth counting.
    Noted {
        /// ICMP errors sent.
        IcmpErrorSent => "icmp_error_sent",
        /// Datagrams put together from fragments.
        Reassembled => "reassembled",
        /// Datagrams given up, as a fragment did not come in time.
        ReassemblyTimeout => "reassembly_timeout",
        /// Datagrams given up to make room for others.
        ReassemblyEvicted => "reassembly_evicted",
        /// Fragments sent.
        FragmentSent => "fragment_sent",
        /// Solicitations and ARP requests sent.
        Solicitation => "solicitation",
        /// Neighbours that did not answer.
        NeighborFailed => "neighbor_failed",
        /// Path MTUs learnt.
        PathMtu => "path_mtu",
        /// Addresses that are not used, as another host has them.
        AddressDuplicate => "address_duplicate",
        /// How often another host was seen to use an address that this one uses.
        AddressConflict => "address_conflict",
        /// Reports of multicast listener discovery sent.
        MldReport => "mld_report",
    }
}

/// All counts since the stack began.
#[derive(Clone, Debug)]
pub struct Counters {
    /// Frames that arrived: the sum of what is delivered and dropped.
    pub frames_in: u64,
    /// Bytes of them.
    pub bytes_in: u64,
    /// Frames that left; one that the device cuts counts once.
    pub frames_out: u64,
    /// Bytes of them.
    pub bytes_out: u64,
    delivered: [u64; Delivered::COUNT],
    dropped: [u64; Dropped::COUNT],
    unsent: [u64; Unsent::COUNT],
    noted: [u64; Noted::COUNT],
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            frames_in: 0,
            bytes_in: 0,
            frames_out: 0,
            bytes_out: 0,
            delivered: [0; Delivered::COUNT],
            dropped: [0; Dropped::COUNT],
            unsent: [0; Unsent::COUNT],
            noted: [0; Noted::COUNT],
        }
    }
}

impl Counters {
    /// How many frames were delivered so.
    #[must_use]
    pub const fn delivered(&self, how: Delivered) -> u64 {
        self.delivered[how as usize]
    }

    /// How many frames were dropped for that.
    #[must_use]
    pub const fn dropped(&self, reason: Dropped) -> u64 {
        self.dropped[reason as usize]
    }

    /// How many packets did not leave for that.
    #[must_use]
    pub const fn unsent(&self, reason: Unsent) -> u64 {
        self.unsent[reason as usize]
    }

    /// How often that happened.
    #[must_use]
    pub const fn noted(&self, what: Noted) -> u64 {
        self.noted[what as usize]
    }

    /// How many frames were delivered.
    #[must_use]
    pub fn delivered_total(&self) -> u64 {
        self.delivered.iter().sum()
    }

    /// How many frames were dropped.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Every count with the group and the name that it has in reports.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        let delivered = Delivered::ALL.iter().map(|k| ("delivered", k.name(), self.delivered(*k)));
        let dropped = Dropped::ALL.iter().map(|k| ("dropped", k.name(), self.dropped(*k)));
        let unsent = Unsent::ALL.iter().map(|k| ("unsent", k.name(), self.unsent(*k)));
        let noted = Noted::ALL.iter().map(|k| ("noted", k.name(), self.noted(*k)));
        delivered.chain(dropped).chain(unsent).chain(noted)
    }

    pub(crate) fn frame(&mut self, len: usize, fate: Result<Delivered, Dropped>) {
        self.frames_in += 1;
        self.bytes_in += len as u64;
        match fate {
            Ok(how) => self.delivered[how as usize] += 1,
            Err(reason) => self.dropped[reason as usize] += 1,
        }
    }

    pub(crate) fn left(&mut self, len: usize) {
        self.frames_out += 1;
        self.bytes_out += len as u64;
    }

    pub(crate) fn not_sent(&mut self, reason: Unsent) {
        self.unsent[reason as usize] += 1;
    }

    pub(crate) fn note(&mut self, what: Noted) {
        self.noted[what as usize] += 1;
    }
}
