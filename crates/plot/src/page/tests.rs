use super::*;
use crate::{Axis, Line, Series};

#[test]
fn a_page_has_all_its_parts_in_order() {
    let mut figure = Figure::new("plotted", Axis::new("count"), Axis::new("time"));
    figure.series.push(Series::new("one", Line::Joined, [(0.0, 1.0), (1.0, 2.0)]));
    let mut table = Table::new("numbers", &["", "a", "b", "c"]);
    table.row(["x", "1", "2", "3"]);
    table.row([Cell::About("y".to_owned(), "says \"<hello>\"".to_owned()), Cell::Why("no".into())]);
    let parts = vec![
        Part::Heading("results <1>".to_owned()),
        figure.into(),
        Part::Text("a & b".to_owned()),
        table.into(),
    ];
    let page = Page { title: "<title>".to_owned(), parts }.html();
    let mut rest = page.as_str();
    for part in [
        "<h1>&lt;title&gt;</h1>",
        "<h2>results &lt;1&gt;</h2>",
        "<svg",
        "</svg>",
        "<p>a &amp; b</p>",
        "<tr><th></th><th>a</th><th>b</th><th>c</th></tr>",
        "<tr><td>x</td><td>1</td><td>2</td><td>3</td></tr>",
        "<tr><td title=\"says &quot;&lt;hello&gt;&quot;\">y</td>",
        "<td class=\"why\" colspan=\"3\">no</td></tr>",
        "</table>\n</html>",
    ] {
        let (_, after) = rest.split_once(part).unwrap_or_else(|| panic!("{part}: {rest}"));
        rest = after;
    }
    assert_eq!(page.matches("<style>").count(), 1, "one style for all");
}
