//! Where exports go.

use std::{fmt, str::FromStr};

use axum::http::Uri;

/// The path of OTLP for metrics, below the address that is given.
const PATH: &str = "/v1/metrics";

/// A receiver of OTLP over HTTP: `http://127.0.0.1:4318`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// Without the brackets of an IPv6 address.
    pub(super) host: String,
    pub(super) port: u16,
    /// `host:port`, as it stands in the header Host.
    pub(super) authority: String,
    pub(super) path: String,
}

/// An address that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot send metrics to {url:?}: {why}")]
pub struct ReceiverError {
    /// What was given.
    pub url: String,
    /// What is wrong, and what to write.
    pub why: &'static str,
}

impl FromStr for Receiver {
    type Err = ReceiverError;

    fn from_str(url: &str) -> Result<Self, ReceiverError> {
        parse(url).map_err(|why| ReceiverError { url: url.to_owned(), why })
    }
}

fn parse(url: &str) -> Result<Receiver, &'static str> {
    let form = "write http://HOST:PORT, for example http://127.0.0.1:4318";
    let uri: Uri = url.parse().map_err(|_| form)?;
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => {
            return Err(
                "this program has no TLS: send to an OpenTelemetry Collector on this host \
                        (http://127.0.0.1:4318), which can pass it on over https",
            );
        }
        _ => return Err(form),
    }
    let authority = uri.authority().ok_or(form)?;
    if authority.as_str().contains('@') {
        return Err("names and passwords are not sent: leave out what stands before the @");
    }
    let port = authority.port_u16().filter(|port| *port > 0);
    let port = port.ok_or("it names no port: OTLP over HTTP is usually received on 4318")?;
    if uri.query().is_some() {
        return Err("a receiver is not asked with '?': leave that out");
    }
    let host = authority.host();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let base = uri.path().trim_end_matches('/');
    let base = base.strip_suffix(PATH).unwrap_or(base);
    Ok(Receiver {
        host: bare.to_owned(),
        port,
        authority: authority.as_str().to_owned(),
        path: format!("{base}{PATH}"),
    })
}

impl fmt::Display for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests;
