use super::*;
use crate::report::fixture;

fn page(results: &Results) -> String {
    let mut out = Vec::new();
    write_html(results, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_page_has_the_chart_and_everybody_in_a_table() {
    let page = page(&fixture::results());
    assert_eq!((page.matches("<svg").count(), page.matches("</svg>").count()), (1, 1));
    // A heading and six contestants.
    assert_eq!((page.matches("<tr>").count(), page.matches("</tr>").count()), (7, 7));
    for part in [
        "<td>2.00 ms</td><td>1.00 ms</td><td>9.00 ms</td>",
        "<td>1,234</td><td>2,345</td><td>0.50×</td>",
        "<td>not measured</td>",
        "absent: not installed: apt-get install missing",
        "title=\"says &quot;hello&quot;, &amp; more\">own &lt;fast&gt;</td>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn a_size_that_was_left_out_says_why() {
    let page = page(&fixture::left_out());
    assert!(page.contains("<p>Left out: needs 5 MiB of memory</p>") && !page.contains("<table>"));
}

#[test]
fn further_numbers_have_columns_before_the_factor() {
    let page = page(&fixture::with_figures());
    assert!(page.contains("<th>packets per check</th>"), "{page}");
    assert!(page.contains("<td>3</td><td>12,345</td><td>1.50 ms</td><td>3</td><td>0.50×</td>"));
    assert!(page.contains("<p>not looked at closely: needs tcpdump"), "{page}");
    assert!(page.contains("colspan=\"12\""), "{page}");
}

#[test]
fn a_scenario_with_figures_of_its_own_shows_those() {
    let mut out = Vec::new();
    write_html(&fixture::with_differences(), &mut out).unwrap();
    let page = String::from_utf8(out).unwrap();
    assert!(page.contains("<td>0.25 [-0.50 to 1.00]</td>"), "{page}");
    assert!(page.contains("failed: exit code 1: a &amp; b &lt; c"), "{page}");
    assert_eq!(page.matches("<tr>").count(), page.matches("</tr>").count());
}
