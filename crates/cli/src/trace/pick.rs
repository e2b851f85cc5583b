//! Which edges are shown.

use portolan_flow::{End, Flow, Owner, Transport, service_name};

/// An id of a container is known by so many digits.
const CONTAINER_DIGITS: usize = 12;

/// What is traced at all: totals count this.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope {
    /// Only edges with an end in the observer's network namespace.
    pub own_namespace: bool,
    /// Only this one.
    pub transport: Option<Transport>,
}

impl Scope {
    /// Whether an edge is in it.
    pub fn has(&self, flow: &Flow) -> bool {
        let is_own = |end: &End| end.namespace.as_ref().is_some_and(|netns| netns.is_host());
        self.transport.is_none_or(|transport| flow.transport == transport)
            && (!self.own_namespace || is_own(&flow.client) || is_own(&flow.server))
    }
}

/// What is shown of it.
#[derive(Clone, Debug, Default)]
pub struct Pick {
    /// A process, unit or container at either end.
    pub process: Option<String>,
    /// The listening port.
    pub port: Option<u16>,
    /// Only where a connection failed.
    pub failed: bool,
}

impl Pick {
    /// Whether an edge is shown.
    pub fn wants(&self, flow: &Flow) -> bool {
        let failed = || flow.traffic.as_ref().is_some_and(|traffic| traffic.failed() > 0);
        self.port.is_none_or(|port| flow.server_port == port)
            && (!self.failed || failed())
            && self
                .process
                .as_ref()
                .is_none_or(|name| is_called(&flow.client, name) || is_called(&flow.server, name))
    }
}

fn is_called(end: &End, name: &str) -> bool {
    let Some(process) = end.owner.process() else { return false };
    let is_container =
        |id: &str| id == name || name.len() >= CONTAINER_DIGITS && id.starts_with(name);
    process.name == name
        || process.unit.as_deref() == Some(name)
        || process.container.as_deref().is_some_and(is_container)
}

/// Whether all of the words are in what is known of an edge: names, addresses, the port and its
/// service; in whatever case.
pub fn has_words(flow: &Flow, words: &str) -> bool {
    if words.trim().is_empty() {
        return true;
    }
    let text = searched(flow);
    words.split_whitespace().all(|word| text.contains(&word.to_lowercase()))
}

/// All that is known of an edge by name or number.
fn searched(flow: &Flow) -> String {
    let mut text = String::new();
    for end in [&flow.client, &flow.server] {
        text.push_str(&end.address.to_string());
        text.push('\n');
        match &end.owner {
            Owner::Process(process) => {
                let more = [process.unit.as_deref(), process.container.as_deref()];
                for name in std::iter::once(&*process.name).chain(more.into_iter().flatten()) {
                    text.push_str(name);
                    text.push('\n');
                }
            }
            Owner::Hidden { uid } => text.push_str(&format!("uid {uid}\n")),
            Owner::Unobserved => {}
        }
        text.push_str(end.namespace.as_ref().map_or("", |namespace| namespace.name()));
        text.push('\n');
    }
    let (transport, port) = (flow.transport, flow.server_port);
    let service = service_name(transport, port).unwrap_or("");
    text.push_str(&format!("{}:{port}/{transport} {service}", flow.server.address));
    text.to_lowercase()
}

#[cfg(test)]
mod tests;
