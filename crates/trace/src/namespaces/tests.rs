use portolan_sys::netns;

use super::*;

#[test]
fn the_own_namespace_is_the_host() {
    let here = netns::current().expect("/proc is mounted");
    let here = u32::try_from(here).expect("its numbers have 32 bits");
    let mut namespaces = Namespaces::default();
    namespaces.learn(&mut Finder::Iterators, [(here, 0)].into_iter());
    assert!(namespaces.of(here).is_host());
}

#[test]
fn what_nothing_tells_is_called_by_its_number() {
    let mut namespaces = Namespaces::default();
    namespaces.learn(&mut Finder::Iterators, [(0xf123_4567, 0)].into_iter());
    assert_eq!(namespaces.of(0xf123_4567).name(), "netns:4045620583");
    let mut finder = Finder::new(crate::Attach::Cgroup, &crate::TraceOptions::default());
    namespaces.learn(&mut finder, [(77, 0), (78, u32::MAX)].into_iter());
    assert_eq!(namespaces.of(77).name(), "netns:cookie-77");
    assert_eq!(namespaces.of(78).name(), "netns:cookie-78");
    assert_eq!(namespaces.of(0).name(), "netns:unknown");
}
