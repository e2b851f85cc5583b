//! Both methods see the same sockets.

mod churn;
mod conformance;

use super::*;

#[test]
fn a_method_goes_by_its_name() {
    for name in MethodName::ALL {
        let method = open(name, &Place::here()).expect("both work on every supported kernel");
        assert_eq!(method.name(), name);
        assert_eq!(name.to_string(), name.name());
    }
}

#[test]
fn coverage_adds_up() {
    let mut sum = Coverage::default();
    sum.add(Coverage { rows: 1, skipped: 2, torn: true });
    sum.add(Coverage { rows: 10, skipped: 20, torn: false });
    assert_eq!(sum, Coverage { rows: 11, skipped: 22, torn: true });
}
