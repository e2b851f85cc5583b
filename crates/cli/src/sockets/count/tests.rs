use super::*;

fn counts(groups: &[(&str, u64)]) -> Counts {
    let groups = groups.iter().map(|&(name, count)| (name.to_owned(), count)).collect();
    Counts { by: GroupBy::Process, groups: Groups::Names(groups), overflow: 0 }
}

fn written(counts: &Counts, top: usize, json: bool) -> String {
    let mut out = Vec::new();
    counts.write(top, json, &mut out).expect("a vector takes all");
    String::from_utf8(out).expect("text")
}

#[test]
fn the_largest_come_first_and_totals_add_up() {
    let counts = counts(&[("b", 2), ("a", 2), ("c", 5), ("d", 1)]);
    let all = "        5  c\n        2  a\n        2  b\n        1  d\n       10  total\n";
    assert_eq!(written(&counts, 0, false), all);
    let top = "        5  c\n        2  a\n        3  (others)\n       10  total\n";
    assert_eq!(written(&counts, 2, false), top);
}

#[test]
fn json_is_an_object_per_group() {
    let counts = counts(&[("a", 2), ("c", 5)]);
    let expected = "{\"group\":\"c\",\"sockets\":5}\n{\"group\":\"a\",\"sockets\":2}\n";
    assert_eq!(written(&counts, 0, true), expected);
}
