use std::collections::BTreeSet;

use super::TOP;

#[test]
fn no_port_is_in_the_list_twice() {
    let different: BTreeSet<u16> = TOP.into();
    assert_eq!(different.len(), TOP.len());
    assert!(!different.contains(&0));
}
