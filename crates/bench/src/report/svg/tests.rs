use super::*;
use crate::report::fixture;

fn svg() -> String {
    let mut out = Vec::new();
    write_svg(&fixture::results(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Checks that tags nest, attributes are quoted, and text has no bare `<` or `&`; returns the
/// text of all `text` elements.
fn well_formed(svg: &str) -> Vec<String> {
    let (mut open, mut texts, mut rest) = (Vec::new(), Vec::new(), svg);
    while let Some(start) = rest.find('<') {
        let (text, tag) = rest.split_at(start);
        let (tag, after) = tag[1..].split_once('>').unwrap();
        assert!(!tag.contains('<'), "{tag}");
        for entity in text.split('&').skip(1) {
            assert!(["amp;", "lt;", "gt;"].iter().any(|known| entity.starts_with(known)), "{text}");
        }
        if open.last() == Some(&"text") {
            texts.push(text.to_owned());
        } else if open.last() != Some(&"title") && open.last() != Some(&"style") {
            assert_eq!(text.trim(), "", "text outside of an element for text");
        }
        match (tag.strip_prefix('/'), tag.strip_suffix('/')) {
            (Some(name), _) => assert_eq!(open.pop(), Some(name)),
            (None, Some(_)) => {}
            (None, None) => open.push(tag.split(' ').next().unwrap()),
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        assert_eq!(tag.matches('=').count(), tag.matches("=\"").count(), "{tag}");
        rest = after;
    }
    assert!(open.is_empty() && rest.trim().is_empty());
    texts
}

#[test]
fn the_chart_is_well_formed_and_has_everybody() {
    let texts = well_formed(&svg());
    for part in [
        "own &lt;fast&gt;",
        "peer",
        "1,000 sockets: pretend, factor vs peer",
        "2.00 ms, 0.50×, up to 9.00 ms",
        "1.00 ms, 0.25×",
    ] {
        assert!(texts.iter().any(|text| text == part), "{part}: {texts:?}");
    }
    assert!(texts.contains(&"failed: exit code 1: a &amp; b &lt; c d".to_owned()), "{texts:?}");
    assert!(texts.contains(&"absent: not installed: apt-get install missing".to_owned()));
}

#[test]
fn a_size_that_was_left_out_says_why() {
    let mut out = Vec::new();
    write_svg(&fixture::left_out(), &mut out).unwrap();
    let texts = well_formed(&String::from_utf8(out).unwrap());
    assert!(texts.contains(&"left out: needs 5 MiB of memory".to_owned()), "{texts:?}");
}

#[test]
fn bars_stay_inside_the_chart() {
    let of = |line: &str, name: &str| -> u64 {
        let (_, rest) = line.split_once(&format!(" {name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    let svg = svg();
    let elements = |name: &'static str| svg.lines().filter(move |line| line.starts_with(name));
    for bar in elements("<rect") {
        assert!(of(bar, "width") >= 1 && of(bar, "x") + of(bar, "width") <= WIDTH, "{bar}");
    }
    for line in elements("<line") {
        assert!(of(line, "x1") <= of(line, "x2") && of(line, "x2") < WIDTH, "{line}");
    }
    assert_eq!((elements("<rect").count(), elements("<line").count()), (3, 3));
}

#[test]
fn without_a_size_there_is_still_a_chart() {
    let mut out = Vec::new();
    let results = Results { sizes: Vec::new(), ..fixture::results() };
    write_svg(&results, &mut out).unwrap();
    well_formed(&String::from_utf8(out).unwrap());
}
