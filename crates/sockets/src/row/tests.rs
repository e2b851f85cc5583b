use super::*;

#[test]
fn states_have_the_numbers_of_the_kernel() {
    for (at, state) in State::ALL.into_iter().enumerate() {
        assert_eq!(state as usize, at + 1);
        assert_eq!(State::from_kernel(state as u8), Some(state));
    }
    for unknown in [0, 14, 15, 255] {
        assert_eq!(State::from_kernel(unknown), None, "{unknown}");
    }
}

#[test]
fn every_state_has_a_name_of_its_own_but_the_half_open_ones() {
    let mut names: Vec<&str> = State::ALL.into_iter().map(State::name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), State::ALL.len() - 1);
    assert_eq!(State::SynReceived.name(), State::NewSynReceived.name());
}

#[test]
fn all_states_but_the_inactive_are_all() {
    for state in State::ALL {
        assert_eq!(States::ALL.contains(state), state != State::BoundInactive, "{state:?}");
        assert!(!States::NONE.contains(state), "{state:?}");
    }
    assert_eq!(States::ALL.bits(), 0b1_1111_1111_1110);
    assert_eq!(States::NONE.bits(), 0);
}

#[test]
fn a_set_contains_what_was_put_in() {
    let half_open = [State::SynReceived, State::NewSynReceived];
    for one in State::ALL {
        let set = States::NONE.with(one);
        for other in State::ALL {
            let same = one == other || half_open.contains(&one) && half_open.contains(&other);
            assert_eq!(set.contains(other), same, "{one:?}, {other:?}");
            // The kernel is asked for exactly what passes.
            assert_eq!(set.bits() >> (other as u8) & 1 == 1, same, "{one:?}, {other:?}");
        }
        assert!(set.with(State::Listen).contains(one));
    }
}
