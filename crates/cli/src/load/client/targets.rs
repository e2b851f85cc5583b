//! Whom to load: hosts with ports, or URLs.

use std::{fs, net::SocketAddr};

use anyhow::{Context, bail};
use portolan_load::{Ask, HttpRequest, Url, parse_targets};
use portolan_probe::space::own_networks;

use super::args::HttpArgs;

/// Targets, and what is asked for there over HTTP: as many, or none.
pub(super) struct Targets {
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) http: Vec<HttpRequest>,
}

/// Reads what was written on the command line.
pub(super) fn read(texts: &[String], takes_urls: bool, args: &HttpArgs) -> anyhow::Result<Targets> {
    let mut targets = Targets { addresses: Vec::new(), http: Vec::new() };
    if !takes_urls || !texts.iter().any(|text| text.contains("://")) {
        for text in texts {
            targets.addresses.extend(parse_targets(text)?);
        }
        return Ok(targets);
    }
    let body = match (&args.body, &args.body_file) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(file)) => {
            fs::read(file).with_context(|| format!("cannot read {}", file.display()))?
        }
        (None, None) => Vec::new(),
    };
    let ask = Ask {
        method: args.method.clone(),
        headers: args.headers.iter().map(|text| header(text)).collect::<anyhow::Result<_>>()?,
        body,
        keep_alive: args.keeps_alive(),
    };
    for text in texts {
        let url = Url::parse(text)?;
        targets.addresses.push(url.address()?);
        let (status, body_bytes) = (args.expect_status, args.expect_bytes);
        targets.http.push(HttpRequest { status, body_bytes, ..url.request(&ask)? });
    }
    Ok(targets)
}

fn header(text: &str) -> anyhow::Result<(String, String)> {
    let Some((name, value)) = text.split_once(':') else {
        bail!("{text:?} is no header: write 'Name: value'");
    };
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Load on somebody else's service is an attack to them.
pub(super) fn ensure_owned(targets: &[SocketAddr]) -> anyhow::Result<()> {
    let own = own_networks();
    for target in targets {
        let address = target.ip().to_canonical();
        if !own.contains(address) {
            bail!(
                "{address} is outside private networks, where load may be taken for an attack: \
                 with its owner's consent, say --i-own-these-networks"
            );
        }
    }
    Ok(())
}
