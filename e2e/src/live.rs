//! A `portolan map` that keeps running.

use std::process::Command;

use crate::{place::Place, running::Running};

/// Starts `portolan map` with a page on any free port; returns it with the page's address, as
/// `127.0.0.1:PORT`.
///
/// # Panics
/// When it does not come up.
#[must_use]
pub fn with_page(place: &Place, command: Command) -> (Running, String) {
    let mut map = Running::start(place, command);
    let address = map.wait_for("the page's address", |map| {
        let stderr = map.stderr();
        let (_, rest) = stderr.split_once("the live map is on http://")?;
        Some(rest.split_once("/ until")?.0.to_owned())
    });
    (map, address)
}
