//! Any text of /proc/PID/cgroup is read; names are parts of paths, and never empty.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portolan_flow::cgroup::parse;

fuzz_target!(|text: &str| {
    let found = parse(text);
    // At most the user's manager and a unit of its.
    assert!(found.unit.is_none_or(|unit| !unit.is_empty() && unit.matches('/').count() <= 1));
    assert!(found.container.is_none_or(|container| !container.is_empty()));
});
