//! What is asked for over HTTP: URLs, and the requests made from them.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::{Error, resolve::resolve};

/// A URL of the scheme `http` (RFC 9110, section 4.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    text: String,
    host: String,
    port: u16,
    /// Path and query: what stands in the request.
    target: String,
}

/// What is asked for, in bytes that are ready to be sent, and what is expected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRequest {
    /// What people call it.
    pub url: String,
    /// The request.
    pub bytes: Vec<u8>,
    /// Its method is HEAD: the response has no body.
    pub is_head: bool,
    /// The status that is expected; none: 200 to 399.
    pub status: Option<u16>,
    /// Bytes of the body that are expected; none: as many as the response says itself.
    pub body_bytes: Option<u64>,
}

/// A request besides its URL.
#[derive(Clone, Debug)]
pub struct Ask {
    /// `GET`.
    pub method: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// What is sent with it.
    pub body: Vec<u8>,
    /// Whether the connection stays open for another one.
    pub keep_alive: bool,
}

impl Default for Ask {
    fn default() -> Self {
        let (headers, body) = (Vec::new(), Vec::new());
        Self { method: "GET".to_owned(), headers, body, keep_alive: true }
    }
}

impl Url {
    /// Reads `http://127.0.0.1:8080/path?query`; the port is 80 if there is none.
    ///
    /// # Errors
    /// [`Error::Url`], which says what to write.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |problem| {
            let input = text.chars().take(80).collect();
            Err(Error::Url { input, problem })
        };
        let Some(("http", rest)) = text.split_once("://") else {
            return wrong("write a URL: http://127.0.0.1:8080/path (https is not spoken)");
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(at);
        if !target.bytes().all(|byte| (0x21..0x7f).contains(&byte)) {
            return wrong("a path is of visible ASCII characters: write others as %20");
        }
        let has_port = authority.rfind(':').is_some_and(|colon| !authority[colon..].contains(']'));
        let (host, port) = match authority.rsplit_once(':').filter(|_| has_port) {
            Some((host, port)) => (host, port.parse().ok().filter(|&port| port > 0)),
            None => (authority, Some(80)),
        };
        let Some(port) = port else { return wrong("a port is 1 to 65535") };
        let is_host_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_host_byte) {
            return wrong("there is no host: write http://127.0.0.1:8080/path");
        }
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Ok(Self { text: text.to_owned(), host: host.to_owned(), port, target })
    }

    /// Where it leads to; a name is resolved.
    ///
    /// # Errors
    /// [`Error::Resolve`].
    pub fn address(&self) -> Result<SocketAddr, Error> {
        Ok(SocketAddr::new(resolve(&self.host)?, self.port))
    }

    /// The request for it.
    ///
    /// # Errors
    /// [`Error::Options`] if the method or a header cannot stand in a request.
    pub fn request(&self, ask: &Ask) -> Result<HttpRequest, Error> {
        let Ask { method, headers, body, keep_alive } = ask;
        let is_token = |text: &str| {
            let is_one =
                |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            !text.is_empty() && text.bytes().all(is_one)
        };
        if !is_token(method) {
            return Err(Error::Options(format!("{method:?} is no method: write GET or POST")));
        }
        let has = |name: &str| headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let mut head = format!("{method} {} HTTP/1.1\r\n", self.target);
        if !has("host") {
            head.push_str(&format!("Host: {}:{}\r\n", self.host, self.port));
        }
        if !has("user-agent") {
            head.push_str("User-Agent: portolan\r\n");
        }
        for (name, value) in headers {
            let is_value = value.bytes().all(|byte| byte == b'\t' || byte >= b' ' && byte != 0x7f);
            if !is_token(name) || !is_value {
                let text = format!("{name:?}: {value:?} is no header: write 'Name: value'");
                return Err(Error::Options(text));
            }
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let needs_length = !body.is_empty() || matches!(method.as_str(), "POST" | "PUT" | "PATCH");
        if needs_length && !has("content-length") && !has("transfer-encoding") {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        if !keep_alive && !has("connection") {
            head.push_str("Connection: close\r\n");
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        let (url, is_head) = (self.text.clone(), method == "HEAD");
        Ok(HttpRequest { url, bytes, is_head, status: None, body_bytes: None })
    }
}

#[cfg(test)]
mod tests;
