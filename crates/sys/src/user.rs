//! Users of this host.

use std::{collections::HashMap, fs};

/// Whether this process runs as root.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The names of the host's users by id, from `/etc/passwd`; the first name of an id counts.
///
/// Users of a directory service are not listed there: for them there is only the number.
#[must_use]
pub fn names() -> HashMap<u32, String> {
    parse_passwd(&fs::read_to_string("/etc/passwd").unwrap_or_default())
}

fn parse_passwd(text: &str) -> HashMap<u32, String> {
    let mut names = HashMap::new();
    for line in text.lines() {
        let mut fields = line.split(':');
        let (name, id) = (fields.next(), fields.nth(1).and_then(|id| id.parse().ok()));
        if let (Some(name), Some(id)) = (name, id) {
            names.entry(id).or_insert_with(|| name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests;
