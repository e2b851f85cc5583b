use super::*;

fn shell(script: &str) -> Part {
    Part::start(&Program::new("/bin/sh", ["-c", script])).unwrap()
}

#[test]
fn what_it_says_instead_of_ready_is_quoted() {
    assert_eq!(shell("echo no more sockets").wait_for("ready"), Err("no more sockets".to_owned()));
    assert_eq!(shell("exit 1").wait_for("ready"), Err("see above".to_owned()));
}

#[test]
fn it_ends_when_it_is_told_to() {
    let mut part = shell("echo ready; cat >/dev/null");
    assert_eq!(part.wait_for("ready"), Ok(()));
    assert!(part.runs());
    part.tell_end();
    assert!(part.child.wait().unwrap().success());
}

#[test]
fn each_question_has_an_answer_until_it_is_gone() {
    let mut part = shell("while read line; do echo \"answer $((i+=1))\"; done");
    assert_eq!(part.ask().unwrap(), "answer 1");
    assert_eq!(part.ask().unwrap(), "answer 2");
    part.tell_end();
    assert!(part.ask().is_err());
}
