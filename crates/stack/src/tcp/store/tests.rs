use alloc::vec::Vec;

use super::*;

#[test]
fn a_number_is_used_again_with_another_generation() {
    let mut store = Store::new();
    let (first, generation) = store.insert('a');
    assert_eq!(store.remove(first), Some('a'));
    assert_eq!(store.remove(first), None);
    let (again, next) = store.insert('b');
    assert_eq!((again, next), (first, generation + 1));
    assert_eq!(store.get(again), Some(&'b'));
}

#[test]
fn values_beyond_a_chunk_have_numbers_of_their_own() {
    let mut store = Store::new();
    let numbers: Vec<u32> = (0..1_000).map(|value| store.insert(value).0).collect();
    assert_eq!(store.len(), 1_000);
    for (value, number) in numbers.iter().enumerate() {
        assert_eq!(store.get(*number), Some(&value));
    }
    assert_eq!(store.get(5_000), None);
}
