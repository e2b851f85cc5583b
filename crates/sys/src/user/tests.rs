use super::*;

#[test]
fn the_first_name_of_an_id_counts_and_bad_lines_are_skipped() {
    let text = "root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/:\nbroken\nx:y:notanumber\npg:x:112:1:";
    let names = parse_passwd(text);
    assert_eq!(names.get(&0).map(String::as_str), Some("root"));
    assert_eq!(names.get(&112).map(String::as_str), Some("pg"));
    assert_eq!(names.len(), 2);
}
