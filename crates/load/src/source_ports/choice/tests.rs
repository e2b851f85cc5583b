use super::*;

fn host() -> Host {
    Host { ephemeral: 32_768..=60_999, reserved: Vec::new(), listening: Vec::new() }
}

fn wish(strategy: Strategy, ports: Option<RangeInclusive<u16>>) -> Wish {
    Wish { strategy, ports, has_sources: false }
}

#[test]
fn auto_is_explicit_and_says_why() {
    let choice = choose(&wish(Strategy::Auto, None), &host(), true).unwrap();
    // The rest is others'.
    assert_eq!((choice.strategy, choice.ports), (Strategy::Explicit, 32_768..=59_235));
    assert!(choice.why.contains("constant time"), "{}", choice.why);
    let one = Host { ephemeral: 40_000..=40_000, ..host() };
    assert_eq!(choose(&wish(Strategy::Auto, None), &one, true).unwrap().ports, 40_000..=40_000);
}

#[test]
fn ports_of_ones_own_choice_are_for_those_who_can_have_them() {
    let own = Some(20_000..=29_999);
    let explicit = choose(&wish(Strategy::Explicit, own.clone()), &host(), false).unwrap();
    assert_eq!(explicit.ports, 20_000..=29_999);
    for strategy in [Strategy::Kernel, Strategy::Range] {
        let why = choose(&wish(strategy, own.clone()), &host(), true).unwrap_err();
        assert!(why.contains("32768-60999") && why.contains("explicit"), "{why}");
    }
    let inside = choose(&wish(Strategy::Range, Some(40_000..=50_000)), &host(), true).unwrap();
    assert_eq!(inside.ports, 40_000..=50_000);
    assert!(choose(&wish(Strategy::Kernel, Some(32_768..=60_999)), &host(), true).is_ok());
}

#[test]
fn an_old_kernel_has_no_range() {
    let why = choose(&wish(Strategy::Range, None), &host(), false).unwrap_err();
    assert!(why.contains("6.3") && why.contains("explicit"), "{why}");
}

#[test]
fn this_kernel_is_asked() {
    has_range(&Host::read()).unwrap();
}
