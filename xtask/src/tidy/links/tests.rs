use super::*;
use crate::fixture::places;

#[test]
fn links_that_lead_somewhere() {
    let text = "# Title\nSee [a](docs/a.md), [b](docs/a.md#the-second-part),\n\
                ![c](docs/c.svg \"c\"), [d](#title), [e](https://example.org/x),\n\
                [f](docs), `[g](h)`.\n```\n[i](j)\n```\n[k]: docs/a.md\n";
    let found = places(
        check,
        &[
            ("README.md", text),
            ("docs/a.md", "# A\n## The second part!\n[up](../README.md) [here](./a.md)\n"),
            ("docs/c.svg", ""),
        ],
    );
    assert_eq!(found, [""; 0]);
}

#[test]
fn links_that_do_not() {
    let text =
        "# Title\n[a](docs/b.md)\n[b](docs/a.md#third)\n[c](#none)\n[d](../x.md)\n[e]: f.md\n";
    let found = places(check, &[("README.md", text), ("docs/a.md", "# A\n```\n# third\n```\n")]);
    let lines: Vec<String> = (2..=6).map(|line| format!("README.md:{line}")).collect();
    assert_eq!(found, lines);
}

#[test]
fn a_heading_that_is_there_twice_has_two_anchors() {
    assert_eq!(anchors("# A b\n## A b\n#no\n"), ["a-b", "a-b-1"]);
    assert_eq!(anchors("## `GET /api/v1/graph[?since_ms=T]`\n"), ["get-apiv1graphsince_mst"]);
}

#[test]
fn the_map_of_the_code_names_what_exists() {
    let text = "`crates/flow/src/fold.rs`, `crates/flow/`, `CONTRIBUTING.md`\n\
                `crates/none/` `LEXICON.md`\n\
                `/proc/net/tcp`, `crates/*/src`, `tcp`, `a b/c`, `.bpf.c`, `std::net`\n";
    let files =
        [("ARCHITECTURE.md", text), ("crates/flow/src/fold.rs", ""), ("CONTRIBUTING.md", "")];
    assert_eq!(places(check, &files), ["ARCHITECTURE.md:2", "ARCHITECTURE.md:2"]);
    assert_eq!(places(check, &[("docs/a.md", text)]), [""; 0]);
}
