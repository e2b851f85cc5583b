use super::*;
use crate::random::{Keys, Random};

fn path_mtus(limit: usize) -> PathMtus {
    let key = Keyed::new(&mut Random::new(&Keys::new([1; 32]), 0));
    PathMtus::new(1_500, limit, key)
}

const V4: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 1));
const V6: IpAddr = IpAddr::V6(core::net::Ipv6Addr::LOCALHOST);

/// RFC 8201, section 4.
#[test]
fn a_path_gets_smaller_alone_and_not_below_the_floor() {
    let (mut path_mtus, now) = (path_mtus(8), Instant::from_micros(1));
    assert!(!path_mtus.reduce(V4, 1_500, now));
    assert!(!path_mtus.reduce(V4, 70_000, now));
    assert!(path_mtus.reduce(V4, 1_400, now));
    assert!(!path_mtus.reduce(V4, 1_450, now));
    assert_eq!(path_mtus.get(V4, now), 1_400);
    assert!(path_mtus.reduce(V4, 0, now));
    assert!(path_mtus.reduce(V6, 68, now));
    assert_eq!((path_mtus.get(V4, now), path_mtus.get(V6, now)), (552, 1_280));
}

/// RFC 1191, section 6.3.
#[test]
fn it_is_tried_again_after_ten_minutes() {
    let (mut path_mtus, now) = (path_mtus(8), Instant::from_micros(1));
    path_mtus.reduce(V4, 1_400, now);
    assert_eq!(path_mtus.get(V4, now + LIFETIME - Duration::from_micros(1)), 1_400);
    let later = now + LIFETIME;
    assert_eq!(path_mtus.get(V4, later), 1_500);
    assert!(path_mtus.reduce(V4, 1_450, later));
}

#[test]
fn the_oldest_are_forgotten() {
    let (mut known, now) = (path_mtus(8), Instant::from_micros(1));
    let address = |last| IpAddr::from([192, 0, 2, last]);
    for last in 0..100 {
        known.reduce(address(last), 1_000, now);
        assert!(known.len() <= 8);
    }
    let left = (0..100).filter(|last| known.get(address(*last), now) == 1_000);
    assert!(left.eq(92..100));
    let mut none = path_mtus(0);
    assert!(!none.reduce(V4, 1_000, now));
}

/// RFC 1191, section 7.1.
#[test]
fn plateaus_go_down() {
    for (length, mtu) in [(65_535, 32_000), (1_500, 1_492), (1_492, 1_006), (69, 68), (20, 68)] {
        assert_eq!(plateau_below(length), mtu, "{length}");
    }
}
