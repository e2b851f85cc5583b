use super::*;

#[test]
fn nothing_in_a_text_can_break_the_file() {
    assert_eq!(escape("a<b>&\"c\"\u{1}\n"), "a&lt;b&gt;&amp;\"c\"\u{fffd} ");
}

#[test]
fn a_picture_stands_alone() {
    let mut sheet = Sheet::default();
    sheet.label((16.0, 28.25), "title", "a < b");
    sheet.rectangle("own", (1.0, 2.0), 3.0, 4.0);
    let svg = sheet.svg("a & b", (100.0, 50.0), Some(STYLE));
    assert!(svg.contains("<title>a &amp; b</title>") && svg.contains(STYLE), "{svg}");
    assert!(svg.contains("<text class=\"title\" x=\"16\" y=\"28.2\">a &lt; b</text>"), "{svg}");
    assert!(svg.contains("<rect class=\"own\" x=\"1\" y=\"2\" width=\"3\" height=\"4\""), "{svg}");
    assert!(!sheet.svg("", (1.0, 1.0), None).contains("<style>"));
}
