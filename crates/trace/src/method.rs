//! The ways to trace, and where to attach.

use std::fmt;

/// How what happened gets from the kernel to user space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MethodName {
    /// A sum in the kernel for each {namespace, source, destination, listening port, side,
    /// transport, process}.
    #[default]
    Bundle,
    /// A sum in the kernel for each connection, ephemeral port and all.
    Aggregate,
    /// An event for each connection that comes up, and for each that ends; for each datagram.
    Stream,
}

impl MethodName {
    /// All, the cheapest first.
    pub const ALL: [Self; 3] = [Self::Bundle, Self::Aggregate, Self::Stream];

    /// One word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bundle => "bundle",
            Self::Aggregate => "aggregate",
            Self::Stream => "stream",
        }
    }

    /// For people.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Bundle => "sums per edge in the kernel",
            Self::Aggregate => "sums per connection in the kernel",
            Self::Stream => "an event per connection",
        }
    }

    /// `enum` of bpf/count.h.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Bundle => 0,
            Self::Aggregate => 1,
            Self::Stream => 2,
        }
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where in the kernel the programs are attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attach {
    /// The tracepoint `inet_sock_set_state`, with the kernel's types: Linux 5.17 or newer with BTF.
    TpBtf,
    /// The entry of `tcp_set_state` through a trampoline. Kernels that are locked down refuse it.
    Fentry,
    /// The same by a breakpoint. Needs CONFIG_KPROBES, and that the kernel is not locked down.
    Kprobe,
    /// The root control group alone, by contexts that every kernel has: no types of the kernel and
    /// no program that traces. Since Linux 5.17; needs CONFIG_CGROUP_BPF and the kernel's listings
    /// of sockets.
    Cgroup,
}

impl Attach {
    /// All, the best first.
    pub const ALL: [Self; 4] = [Self::TpBtf, Self::Fentry, Self::Kprobe, Self::Cgroup];

    /// One word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TpBtf => "tp_btf",
            Self::Fentry => "fentry",
            Self::Kprobe => "kprobe",
            Self::Cgroup => "cgroup",
        }
    }

    /// Whether the kernel has to describe its types.
    pub(crate) fn needs_btf(self) -> bool {
        self != Self::Cgroup
    }

    /// The ways to see UDP that go with it, the best first.
    #[must_use]
    pub fn udp(self) -> &'static [UdpAttach] {
        match self {
            Self::TpBtf | Self::Fentry | Self::Kprobe => &UdpAttach::ALL,
            Self::Cgroup => &[UdpAttach::CgroupSkb],
        }
    }
}

impl fmt::Display for Attach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where in the kernel UDP is seen, wherever TCP is but as [`Attach::udp`] has it. Breakpoints are
/// not among it: their programs cannot keep anything with a socket, and are not run while another
/// one's is, of whatever kind (`bpf_prog_active` of kernel/trace/bpf_trace.c), which kernels before
/// 6.7 do not even count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UdpAttach {
    /// The entries of functions that no segment of a TCP connection passes, through trampolines.
    /// Kernels that are locked down refuse it, and those without IPv6 have not all of them.
    Fentry,
    /// The root control group, which each segment of TCP passes as well.
    CgroupSkb,
}

impl UdpAttach {
    /// All, the best first.
    pub const ALL: [Self; 2] = [Self::Fentry, Self::CgroupSkb];

    /// One word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fentry => "fentry",
            Self::CgroupSkb => "cgroup_skb",
        }
    }
}

impl fmt::Display for UdpAttach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What to trace, and within which bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// How.
    pub method: MethodName,
    /// Where; the best that works where `None`.
    pub attach: Option<Attach>,
    /// So many edges (with `aggregate`, connections) are told apart between two readings; what is
    /// beyond is added up in one row.
    pub edges_max: u32,
    /// A place for so many connections that are up is kept ready; rounded up to a power of two. As
    /// many as four times that can be followed.
    pub connections: u32,
    /// So many bytes of events wait for user space, with the method `stream`.
    pub queue_bytes: u32,
    /// Whether UDP is traced: a program runs for each datagram.
    pub udp: bool,
    /// Where UDP is seen; in the best way that works, or not at all, where `None`.
    pub udp_attach: Option<UdpAttach>,
    /// The ephemeral ports of the host, both ends included: by them the side of UDP is guessed.
    pub ephemeral: (u16, u16),
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self {
            method: MethodName::Bundle,
            attach: None,
            edges_max: 65_536,
            connections: 16_384,
            queue_bytes: 16 << 20,
            udp: true,
            udp_attach: None,
            ephemeral: (32_768, 60_999),
        }
    }
}
