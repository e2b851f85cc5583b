//! The page, whose files are part of the program.

use std::fmt::Write as _;

use axum::{
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use rust_embed::RustEmbed;

// A checkout without a built page compiles as well: the API works, and the page says what to do.
#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Files;

const INDEX: &str = "index.html";

const NOT_BUILT: &str = "<!doctype html><meta charset=\"utf-8\"><title>Portolan</title>\
    <p>This program was built without its page. Build the page first (<code>make web</code>), \
    then the program. The API is there: <a href=\"/api/v1/graph\">/api/v1/graph</a>.\n";

/// Answers everything that is not the API.
pub(super) async fn file(uri: Uri, request: HeaderMap) -> Response {
    let path = match uri.path().trim_start_matches('/') {
        "" => INDEX,
        path => path,
    };
    let Some(file) = Files::get(path) else {
        return if path == INDEX {
            (StatusCode::SERVICE_UNAVAILABLE, [content_type(INDEX)], NOT_BUILT).into_response()
        } else {
            (StatusCode::NOT_FOUND, "no such file: the map is at /\n").into_response()
        };
    };
    let etag = etag(&file.metadata.sha256_hash());
    // Asked again each time, so that a new version of the program shows its own page at once.
    let caching = [(header::ETAG, etag.clone()), (header::CACHE_CONTROL, "no-cache".to_owned())];
    let known = request.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|known| known.trim() == etag)) {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    (caching, [content_type(path)], file.data).into_response()
}

fn etag(hash: &[u8; 32]) -> String {
    let mut etag = String::from("\"");
    for byte in &hash[..16] {
        // Writing to a string does not fail.
        let _ = write!(etag, "{byte:02x}");
    }
    etag + "\""
}

fn content_type(path: &str) -> (header::HeaderName, &'static str) {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let kind = match ending {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    };
    (header::CONTENT_TYPE, kind)
}
