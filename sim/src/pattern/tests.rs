use super::*;

#[test]
fn it_is_the_same_however_it_is_cut() {
    let mut whole = [0; 1_000];
    Pattern(7).fill(123, &mut whole);
    let mut parts = [0; 1_000];
    for (number, part) in parts.chunks_mut(77).enumerate() {
        Pattern(7).fill(123 + number as u64 * 77, part);
    }
    assert_eq!(whole, parts);
    assert_eq!(Pattern(7).differs(123, &whole), None);
}

#[test]
fn bytes_at_a_wrong_place_are_found() {
    let mut bytes = [0; 64];
    Pattern(7).fill(0, &mut bytes);
    for shift in 1..100_000 {
        assert!(Pattern(7).differs(shift, &bytes).is_some(), "shifted by {shift}");
    }
    assert!(Pattern(8).differs(0, &bytes).is_some());
    bytes[40] ^= 1;
    assert_eq!(Pattern(7).differs(0, &bytes), Some(40));
}
