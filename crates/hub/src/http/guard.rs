//! What holds for every request: for this host only, reading only, small; and for every answer.

use std::net::IpAddr;

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::Problem;

/// The longest path and query, in bytes.
const URI_BYTES_MAX: usize = 4_096;

const CONTENT_SECURITY_POLICY: &str =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

/// Refuses what is not for here, and marks the answer.
pub(super) async fn check(request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api");
    let mut response = match refusal(&request) {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    };
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    mark(response.headers_mut(), is_api);
    response
}

fn refusal(request: &Request) -> Option<Problem> {
    if !is_for_loopback(request) {
        let why = "the request is for another host: open the map at http://localhost, \
                   http://127.0.0.1 or http://[::1], with its port";
        return Some(Problem(StatusCode::FORBIDDEN, why.to_owned()));
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let why = "the map is only to be read: use GET or HEAD";
        return Some(Problem(StatusCode::METHOD_NOT_ALLOWED, why.to_owned()));
    }
    let length = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    if length > URI_BYTES_MAX {
        let why = format!("the address is longer than {URI_BYTES_MAX} bytes: ask for less");
        return Some(Problem(StatusCode::URI_TOO_LONG, why));
    }
    let headers = request.headers();
    let is_empty = headers.get(header::CONTENT_LENGTH).is_none_or(|length| length == "0");
    if !is_empty || headers.contains_key(header::TRANSFER_ENCODING) {
        let why = "a request to the map has no body: leave it out";
        return Some(Problem(StatusCode::PAYLOAD_TOO_LARGE, why.to_owned()));
    }
    None
}

/// A page elsewhere can give its own name the address 127.0.0.1 (DNS rebinding), but cannot keep
/// that name out of the request.
pub(crate) fn is_for_loopback(request: &Request) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let is_own = |host: &str| host.parse().is_ok_and(|authority| is_loopback(&authority));
    // A request line with a host of its own (as for a proxy) overrides the header.
    host.to_str().is_ok_and(is_own) && request.uri().authority().is_none_or(is_loopback)
}

fn is_loopback(authority: &Authority) -> bool {
    if authority.as_str().contains('@') {
        return false;
    }
    let host = authority.host();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn mark(headers: &mut HeaderMap, is_api: bool) {
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    if is_api {
        set(header::CACHE_CONTROL, "no-store");
    }
}
