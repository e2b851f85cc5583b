//! Which node an end of a flow belongs to.
//!
//! A node outlives processes: its id has no process id and no ephemeral port, so that a restart
//! finds the node of before. The most lasting name wins: container, then systemd service, then
//! process, then user, then address.

use std::{borrow::Cow, fmt, net::IpAddr, net::SocketAddr, sync::Arc};

use portolan_flow::{End, Flow, Listener, Namespace, Owner, Process};

use crate::api::Kind;

/// How many digits of a container id name it, as the container tools print them.
const CONTAINER_DIGITS: usize = 12;

/// Finds the name of a user id. The hub reads no files: the caller brings the names.
#[derive(Clone)]
pub struct Users(Arc<dyn Fn(u32) -> Option<String> + Send + Sync>);

impl Users {
    /// Names from `find`, which is asked often and should answer from memory.
    #[must_use]
    pub fn new(find: impl Fn(u32) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// The user's name, or the number where it has none.
    #[must_use]
    pub fn name(&self, uid: u32) -> String {
        (self.0)(uid).unwrap_or_else(|| uid.to_string())
    }
}

/// Nobody has a name: users are shown by number.
impl Default for Users {
    fn default() -> Self {
        Self::new(|_| None)
    }
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Users(..)")
    }
}

/// The part of a node that never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The node's id, for example `unit:nginx.service`.
    pub id: Arc<str>,
    /// What the node stands for.
    pub kind: Kind,
    /// What to draw. Comes from outside: text, never markup.
    pub name: String,
    /// The systemd unit, also where the node is not named after it.
    pub unit: Option<String>,
    /// The full container id.
    pub container: Option<String>,
    /// The network namespace (`host`, `netns:NAME`), where it was observed.
    pub namespace: Option<String>,
    /// The user of a process that may not be seen.
    pub user: Option<String>,
}

/// The node of a flow's client.
#[must_use]
pub fn client_of(flow: &Flow, users: &Users) -> Identity {
    let namespace = flow.client.namespace.as_ref().or(flow.server.namespace.as_ref());
    Naming { end: &flow.client, beside: namespace, users }.identify(None)
}

/// The node of a flow's server.
#[must_use]
pub fn server_of(flow: &Flow, users: &Users) -> Identity {
    let namespace = flow.server.namespace.as_ref().or(flow.client.namespace.as_ref());
    Naming { end: &flow.server, beside: namespace, users }.identify(Some(flow.server_port))
}

/// The node that a listening port belongs to.
#[must_use]
pub fn listener_of(listener: &Listener, users: &Users) -> Identity {
    let end = &listener.end;
    Naming { end, beside: end.namespace.as_ref(), users }.identify(Some(listener.port))
}

/// `text` with control characters escaped, for terminals and log lines: names come from outside.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_control(c) {
            escaped.extend(c.escape_unicode());
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Also the characters that break lines, reorder what stands beside them, or are not seen at all.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

struct Naming<'a> {
    end: &'a End,
    /// The namespace of this end, or of the other one: a loopback address never leaves its
    /// namespace, so the other end tells where an unobserved one is.
    beside: Option<&'a Namespace>,
    users: &'a Users,
}

impl Naming<'_> {
    /// `serves` is the port that the end listens on, if it is the server.
    fn identify(&self, serves: Option<u16>) -> Identity {
        match (&self.end.owner, serves) {
            (Owner::Process(process), _) => self.process(process),
            (&Owner::Hidden { uid }, None) => self.user(uid),
            (&Owner::Hidden { uid }, Some(port)) => {
                let socket = SocketAddr::new(self.end.address, port).to_string();
                let mut identity = self.address(&socket, socket.clone());
                identity.user = Some(self.users.name(uid));
                identity
            }
            (Owner::Unobserved, _) => {
                let address = self.end.address.to_string();
                let name = match self.end.address {
                    own if own.is_loopback() => format!("{own} (process unknown)"),
                    any if any.is_unspecified() => format!("{any} (process unknown)"),
                    _ => address.clone(),
                };
                self.address(&address, name)
            }
        }
    }

    fn process(&self, process: &Process) -> Identity {
        let mut identity = if let Some(container) = &process.container {
            let short: String = container.chars().take(CONTAINER_DIGITS).collect();
            self.named(Kind::Container, &short, short.clone(), None)
        } else if let Some(unit) = process.unit.as_deref().filter(|unit| is_service(unit)) {
            let name = unit.strip_suffix(".service").unwrap_or(unit).to_owned();
            self.named(Kind::Unit, unit, name, self.elsewhere(self.end.namespace.as_ref()))
        } else {
            let elsewhere = self.elsewhere(self.end.namespace.as_ref());
            self.named(Kind::Process, &process.name, process.name.clone(), elsewhere)
        };
        identity.unit.clone_from(&process.unit);
        identity.container.clone_from(&process.container);
        identity
    }

    fn user(&self, uid: u32) -> Identity {
        let user = self.users.name(uid);
        let elsewhere = self.elsewhere(self.end.namespace.as_ref());
        let mut identity = self.named(Kind::User, &user, user.clone(), elsewhere);
        identity.user = Some(user);
        identity
    }

    fn address(&self, address: &str, name: String) -> Identity {
        let local = is_namespace_local(self.end.address);
        let elsewhere = if local { self.elsewhere(self.beside) } else { None };
        self.named(Kind::Address, address, name, elsewhere)
    }

    /// The namespace if it is not the observer's own.
    fn elsewhere<'n>(&self, namespace: Option<&'n Namespace>) -> Option<&'n Namespace> {
        namespace.filter(|namespace| !namespace.is_host())
    }

    fn named(&self, kind: Kind, id: &str, name: String, elsewhere: Option<&Namespace>) -> Identity {
        let suffix = elsewhere.map(|namespace| format!("@{}", namespace.name()));
        let suffix = suffix.unwrap_or_default();
        Identity {
            id: format!("{}:{id}{suffix}", kind.name()).into(),
            kind,
            name: name + &suffix,
            unit: None,
            container: None,
            namespace: self.end.namespace.as_ref().map(|namespace| namespace.name().to_owned()),
            user: None,
        }
    }
}

/// Whether a unit says more than "a user logged in": sessions are scopes, and `user@N.service`
/// holds everything that a user runs.
fn is_service(unit: &str) -> bool {
    unit.ends_with(".service") && !unit.starts_with("user@")
}

/// Whether the address means another host in every namespace.
fn is_namespace_local(address: IpAddr) -> bool {
    address.is_loopback() || address.is_unspecified()
}

#[cfg(test)]
mod tests;
