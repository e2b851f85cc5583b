use super::*;

#[test]
fn a_row_has_its_value_and_its_ends() {
    let row = |name: &str, value| Row {
        name: name.to_owned(),
        value,
        lower: -0.5,
        upper: 1.0,
        colour: 1,
    };
    let rows = Rows { title: "added".to_owned(), rows: vec![row("<own>", 0.25), row("b", 0.5)] };
    let mut sheet = Sheet::default();
    let bottom = rows.draw(&mut sheet, 10.0);
    let svg = sheet.svg("added", (900.0, bottom), None);
    assert!(svg.contains("0.25 [-0.50 to 1.00]") && svg.contains("&lt;own&gt;"), "{svg}");
    assert!(!svg.contains("NaN"), "{svg}");
    assert!((bottom - 146.0).abs() < 1e-9, "{bottom}");
}
