use super::*;
use crate::scene::Program;

#[test]
fn this_process_has_a_name_and_one_that_is_gone_has_none() {
    let own = read(std::process::id()).expect("it runs");
    let program = std::env::current_exe().expect("linux has /proc/self/exe");
    let program = program.file_name().expect("a file").to_string_lossy().into_owned();
    assert_eq!(own.name, program);
    assert_eq!(read(u32::MAX), None);
}

#[test]
fn an_empty_name_is_said_to_be_none() {
    let mut nameless = Program::perl("$0 = ''; print qq(ready\\n)");
    assert_eq!(nameless.line(), "ready");
    assert_eq!(read(nameless.pid()).map(|process| process.name), Some("(no name)".to_owned()));
}
