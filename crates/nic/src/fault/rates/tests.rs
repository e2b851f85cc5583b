use super::*;

fn share(text: &str) -> Probability {
    Probability::parse(text).unwrap()
}

#[test]
fn shares_are_percent_or_fractions() {
    assert_eq!(share("50%"), Probability(1 << 31));
    assert_eq!(share("0.5"), Probability(1 << 31));
    assert_eq!(share("100%"), Probability(1 << 32));
    assert_eq!(share("1"), Probability(1 << 32));
    assert_eq!(share("0.1%"), Probability(4_294_967));
    assert!(share("0").is_zero() && share("0%").is_zero());
    for text in ["", "%", "-1%", "101%", "1.1", "one", "inf", "nan", "1e-3", "+1%", "1 %", "1%%"] {
        assert_eq!(Probability::parse(text), None, "{text:?}");
    }
}

#[test]
fn certainty_always_holds_and_zero_never() {
    for random in [0, 1, u64::from(u32::MAX), u64::MAX] {
        assert!(share("100%").holds(random));
        assert!(!share("0%").holds(random));
    }
    assert!(share("50%").holds((1 << 31) - 1));
    assert!(!share("50%").holds(1 << 31));
}

#[test]
fn faults_are_of_both_directions_or_of_one() {
    let text = "loss=1%,reorder=2%,duplicate=3%,corrupt=0.1%,seed=7";
    let rates = Rates {
        loss: share("1%"),
        duplicate: share("3%"),
        reorder: share("2%"),
        corrupt: share("0.1%"),
    };
    let both = Faults { receive: rates, transmit: rates, seed: 7 };
    assert_eq!(text.parse::<Faults>().unwrap(), both);
    let one: Faults = "loss=1%,receive.loss=4%,transmit.corrupt=5%".parse().unwrap();
    assert_eq!((one.receive.loss, one.receive.corrupt), (share("4%"), share("0")));
    assert_eq!((one.transmit.loss, one.transmit.corrupt), (share("1%"), share("5%")));
    assert_eq!("".parse::<Faults>().unwrap(), Faults::default());
}

#[test]
fn what_is_wrong_is_said_and_what_to_write() {
    for (input, problem) in [
        ("loss", "\"loss\" has no value"),
        ("loss=2", "\"2\" is not a share"),
        ("delay=1%", "no fault \"delay\""),
        ("up.loss=1%", "no direction \"up\""),
        ("seed=x", "seed \"x\" is not a number"),
    ] {
        let text = input.parse::<Faults>().unwrap_err().to_string();
        assert!(text.contains(problem) && text.contains("reorder=2%"), "{text}");
    }
}
