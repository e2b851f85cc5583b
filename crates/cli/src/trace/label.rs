//! What the two ends of an edge are called.

use portolan_flow::{End, Flow, Owner};
use portolan_hub::printable;

use crate::print;

/// So many digits tell containers apart.
const CONTAINER_DIGITS: usize = 12;

/// Who is behind an end: the process, with its container; the user where the process may not be
/// seen; nothing where nobody looked.
pub fn owner(end: &End) -> String {
    match &end.owner {
        Owner::Process(process) => match &process.container {
            Some(container) => {
                let digits = container.get(..CONTAINER_DIGITS).unwrap_or(container);
                printable(&format!("{} [{digits}]", process.name)).into_owned()
            }
            None => printable(&process.name).into_owned(),
        },
        Owner::Hidden { uid } => format!("uid {uid}"),
        Owner::Unobserved => String::new(),
    }
}

/// `redis-cli @10.0.0.1 (netns:blue)`.
pub fn end(end: &End) -> String {
    let owner = owner(end);
    let mut label = if owner.is_empty() {
        end.address.to_string()
    } else {
        format!("{owner} @{}", end.address)
    };
    if let Some(namespace) = end.namespace.as_ref().filter(|namespace| !namespace.is_host()) {
        label.push_str(&format!(" ({})", printable(namespace.name())));
    }
    label
}

/// `6379/tcp redis`, with a mark where the direction was guessed.
pub fn port(flow: &Flow) -> String {
    print::port(flow.transport, flow.server_port) + if flow.guessed { "?" } else { "" }
}

#[cfg(test)]
mod tests;
