use super::*;

const FIRST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 0);

#[test]
fn blocks_add_up_from_the_largest_to_the_smallest() {
    assert_eq!(blocks(FIRST, 65_536), ["10.77.0.0/16"]);
    assert_eq!(blocks(FIRST, 4_096), ["10.77.0.0/20"]);
    assert_eq!(blocks(FIRST, 11), ["10.77.0.0/29", "10.77.0.8/31", "10.77.0.10/32"]);
    assert_eq!(blocks(FIRST, 0), [""; 0]);
}
