use super::*;

fn told(is_terminal: bool) -> String {
    let mut out = Vec::new();
    let mut progress = Progress::new(&mut out, is_terminal);
    progress.tell(Event::Preparing { size: 10_000 });
    for round in 0..2 {
        progress.tell(Event::Running { size: 10_000, round, rounds: 15, contestant: "ss" });
    }
    progress.tell(Event::Counting { size: 10_000, contestant: "netstat" });
    String::from_utf8(out).unwrap()
}

#[test]
fn a_file_gets_a_line_per_size() {
    assert_eq!(told(false), "size 10,000: preparing\n");
}

#[test]
fn a_terminal_gets_a_line_that_changes() {
    let told = told(true);
    assert!(!told.contains('\n'));
    assert!(told.contains("warm-up, ss") && told.contains("size 10,000: 1/15, ss"));
    assert!(told.ends_with("size 10,000: counting calls, netstat"));
}
