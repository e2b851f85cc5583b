use super::*;

/// Who reads a count can look up what it means.
#[test]
fn every_count_is_explained_under_its_group() {
    let format = include_str!("../../../../../docs/formats/host.md");
    let counts = Figures::of(&[Readings::default()]).counts;
    assert!(counts.len() > 50);
    for (group, name, _) in counts {
        let (_, after) = format.split_once(&format!("\n`{group}`, ")).expect(group);
        let table: Vec<&str> = after.lines().skip(2).take_while(|line| !line.is_empty()).collect();
        let row = format!("| `{name}` | ");
        assert!(table.iter().any(|line| line.starts_with(&row)), "{group}: {name}");
    }
}
