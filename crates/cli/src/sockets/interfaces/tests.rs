use super::*;

/// The first interface of every network namespace.
const LOOPBACK: u32 = 1;

fn written(index: u32) -> String {
    let mut out = Vec::new();
    Interfaces::default().write(index, &Place::here(), &mut out);
    String::from_utf8(out).expect("text")
}

#[test]
fn an_interface_has_a_name_or_at_least_an_index() {
    assert_eq!(written(LOOPBACK), "lo");
    assert_eq!(written(u32::MAX), u32::MAX.to_string());
    assert_eq!(written(0), "");
}

#[test]
fn a_name_is_remembered() {
    let interfaces = Interfaces::default();
    let place = Place::here();
    interfaces.names.lock().expect("unharmed").insert((place.netns, 7), Some(Arc::from("known")));
    assert_eq!(interfaces.name(7, &place).as_deref(), Some("known"));
    assert_eq!(interfaces.name(0, &place), None);
    // An index means another interface in another namespace.
    let mut elsewhere = place;
    elsewhere.netns += 1;
    assert_ne!(interfaces.name(7, &elsewhere).as_deref(), Some("known"));
}
