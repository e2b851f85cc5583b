//! What tells one series from another.

use std::{borrow::Cow, sync::Arc};

use portolan_flow::{End, Flow, Transport};

use super::{Settings, addresses::Network};
use crate::identity::printable;

/// The longest name in a label, in bytes; the rest is cut off.
const NAME_BYTES_MAX: usize = 128;

/// One label. The name is OpenTelemetry's; Prometheus has underscores for its dots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub name: &'static str,
    pub text: Box<str>,
    /// Of a label that is a number for OpenTelemetry.
    pub number: Option<u16>,
}

impl Label {
    fn text(name: &'static str, text: impl Into<Box<str>>) -> Self {
        Self { name, text: text.into(), number: None }
    }
}

/// The labels of a series, spelled out once.
pub(super) type Labels = Arc<[Label]>;

/// Labels of what is not of one edge: `what` stands for both addresses.
pub(super) fn of_all(what: &str) -> Labels {
    Arc::new([Label::text("client.address", what), Label::text("server.address", what)])
}

/// What tells one series from another. Has no process id and no ephemeral port: a [`Flow`] has none
/// that would be a key either.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key<'a> {
    client: Party<'a>,
    server: Party<'a>,
    server_port: u16,
    transport: Transport,
}

/// One end. What is not known, or not asked for, is empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Party<'a> {
    network: Network,
    process: Cow<'a, str>,
    unit: Cow<'a, str>,
    container: Cow<'a, str>,
}

impl<'a> Key<'a> {
    /// Which series counts this flow.
    pub fn of(flow: &'a Flow, settings: &Settings) -> Self {
        Self {
            client: Party::of(&flow.client, settings),
            server: Party::of(&flow.server, settings),
            server_port: flow.server_port,
            transport: flow.transport,
        }
    }

    /// The same with names of its own.
    pub fn into_owned(self) -> Key<'static> {
        Key {
            client: self.client.into_owned(),
            server: self.server.into_owned(),
            server_port: self.server_port,
            transport: self.transport,
        }
    }

    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// Labels without a value are left out: to Prometheus the two are the same.
    pub fn labels(&self) -> Labels {
        let (client, server) = (&self.client, &self.server);
        let port = Label {
            name: "server.port",
            text: self.server_port.to_string().into(),
            number: Some(self.server_port),
        };
        let labels = [
            Label::text("client.address", client.network.to_string()),
            Label::text("server.address", server.network.to_string()),
            port,
            Label::text("network.transport", self.transport.name()),
            Label::text("client.process", &*client.process),
            Label::text("server.process", &*server.process),
            Label::text("client.unit", &*client.unit),
            Label::text("server.unit", &*server.unit),
            Label::text("client.container", &*client.container),
            Label::text("server.container", &*server.container),
        ];
        labels.into_iter().filter(|label| !label.text.is_empty()).collect()
    }
}

impl<'a> Party<'a> {
    fn of(end: &'a End, settings: &Settings) -> Self {
        let process = end.owner.process();
        let name = |wanted: bool, text: Option<&'a str>| {
            text.filter(|_| wanted).map_or(Cow::Borrowed(""), label_text)
        };
        Self {
            network: settings.addresses.fold(end.address),
            process: name(true, process.map(|process| process.name.as_str())),
            unit: name(settings.units, process.and_then(|process| process.unit.as_deref())),
            container: name(
                settings.containers,
                process.and_then(|process| process.container.as_deref()),
            ),
        }
    }

    fn into_owned(self) -> Party<'static> {
        let owned = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        Party {
            network: self.network,
            process: owned(self.process),
            unit: owned(self.unit),
            container: owned(self.container),
        }
    }
}

/// A name from outside: control characters escaped, and not longer than it may be.
fn label_text(text: &str) -> Cow<'_, str> {
    let cut = |text: &str| text.floor_char_boundary(NAME_BYTES_MAX);
    match printable(&text[..cut(text)]) {
        Cow::Borrowed(text) => Cow::Borrowed(text),
        Cow::Owned(mut text) => {
            text.truncate(cut(&text));
            Cow::Owned(text)
        }
    }
}

#[cfg(test)]
mod tests;
