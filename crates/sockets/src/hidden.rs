//! What processes hide that may not be looked into, and what to do about it.

use portolan_sys::{
    capabilities::{self, CapabilitySet},
    user,
};

/// What processes hide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// Which sockets they hold.
    Sockets,
    /// Which network namespaces they live in.
    Namespaces,
    /// Both.
    Both,
}

impl Hidden {
    /// What to do to see it, as a clause: `run as root, or grant CAP_SYS_PTRACE`.
    #[must_use]
    pub fn advice(self) -> String {
        self.advice_for(capabilities::has(self.needed()), user::is_root())
    }

    /// Root in a container may lack capabilities.
    fn advice_for(self, capable: bool, root: bool) -> String {
        if capable {
            return "not even root may: they are protected, or belong to an outer container".into();
        }
        let names = capabilities::names(self.needed());
        let (last, others) = names.split_last().expect("each needs some");
        let run = if root { "" } else { "run as root, or " };
        format!("{run}grant {} and {last}", others.join(", "))
    }

    /// What it takes to see it (ptrace(2), "Ptrace access mode checking"; setns(2)).
    fn needed(self) -> CapabilitySet {
        match self {
            Self::Sockets => CapabilitySet::SYS_PTRACE | CapabilitySet::DAC_READ_SEARCH,
            Self::Namespaces => CapabilitySet::SYS_PTRACE | CapabilitySet::SYS_ADMIN,
            Self::Both => Self::Sockets.needed() | Self::Namespaces.needed(),
        }
    }
}

/// `1 process cannot be looked into`.
#[must_use]
pub fn hidden_processes(count: usize) -> String {
    let processes = if count == 1 { "process" } else { "processes" };
    format!("{count} {processes} cannot be looked into")
}

#[cfg(test)]
mod tests;
