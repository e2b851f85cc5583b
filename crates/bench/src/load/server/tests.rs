use super::*;

#[test]
fn nginx_answers_as_our_server_does() {
    let text = configuration();
    assert!(text.contains(&format!("return 200 \"{}\"", "x".repeat(64))), "{text}");
    assert!(text.contains("listen 127.0.0.1:5000 "), "{text}");
    assert!(text.contains("worker_processes 1;"), "{text}");
}
