use super::*;
use crate::print::sample;

#[test]
fn json_repeats_only_what_changed() {
    let mut changes = Changes { since_ms: 0, printed: HashMap::new() };
    let mut printed = |edges: &[(&str, &str, u16, u64)]| {
        let mut out = Vec::new();
        changes.print(&sample::graph(edges), &mut out).expect("a vector takes all");
        String::from_utf8(out).expect("JSON is text").lines().count()
    };
    let before = [("api", "postgres", 5432, 2), ("psql", "postgres", 5432, 1)];
    assert_eq!(printed(&before), 2);
    assert_eq!(printed(&before), 0);
    assert_eq!(printed(&[("api", "postgres", 5432, 3), ("psql", "postgres", 5432, 1)]), 1);
    assert_eq!(printed(&[("api", "postgres", 5432, 3)]), 0);
    assert_eq!(printed(&before), 2);
}
