//! What the running kernel is and allows.

use std::{fs, path::Path};

/// The kernel's name and release, for example `Linux 6.12.9`.
#[must_use]
pub fn release() -> String {
    let uname = rustix::system::uname();
    format!("{} {}", uname.sysname().to_string_lossy(), uname.release().to_string_lossy())
}

/// The host's name.
#[must_use]
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The machine's architecture, for example `x86_64`.
#[must_use]
pub fn machine() -> String {
    rustix::system::uname().machine().to_string_lossy().into_owned()
}

/// The lockdown mode (kernel_lockdown(7)): `none`, `integrity`, `confidentiality`; `None` where
/// the kernel does not say.
#[must_use]
pub fn lockdown() -> Option<String> {
    let text = fs::read_to_string("/sys/kernel/security/lockdown").ok()?;
    parse_lockdown(&text).map(str::to_owned)
}

/// Whether the kernel describes its own types (BTF), which CO-RE programs need.
#[must_use]
pub fn has_btf() -> bool {
    Path::new("/sys/kernel/btf/vmlinux").exists()
}

/// The mode in brackets: `none [integrity] confidentiality`.
fn parse_lockdown(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(mode, _)| mode)
}

#[cfg(test)]
mod tests;
