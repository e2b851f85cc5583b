use super::*;

#[test]
fn sums_leave_out_no_field() {
    // A field that is missing in an AddAssign stays at what it was.
    let ones = |text: &str| text.replace(":0", ":1");
    let twos = |text: &str| text.replace(":0", ":2");
    let empty = serde_json::to_string(&PortCounts::default()).unwrap();
    let mut counts: PortCounts = serde_json::from_str(&ones(&empty)).unwrap();
    counts += counts;
    assert_eq!(serde_json::to_string(&counts).unwrap(), twos(&empty));
    assert_eq!(counts - counts, PortCounts::default());
}
