//! The kernel runs the code of a filter, and leaves out what does not match.

use std::collections::BTreeSet;

use portolan_flow::Transport;
use proptest::{
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use super::{
    generate,
    sockets::{Sockets, all, list, try_list},
};
use crate::{
    Error, Filter, MethodName, Row, State,
    filter::{Bytecode, Expression},
    scene::in_own_namespace,
};
use proptest::strategy::Strategy;

const FILTERS: usize = 300;

/// What every method knows of a socket.
fn known(row: &Row) -> String {
    format!("{:?} {} {} {} {}", row.state, row.local, row.remote, row.uid, row.inode)
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort_unstable();
    rows
}

fn seed() -> [u8; 32] {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.expect("after 1970").as_nanos().to_ne_bytes();
    [now, now].concat().try_into().expect("32")
}

#[test]
fn the_kernel_and_we_want_the_same_sockets() {
    let seed = seed();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut next = move || generate::filters().new_tree(&mut runner).expect("one").current();
    in_own_namespace(move || {
        let _sockets = Sockets::set_up();
        let all = all();
        let (mut selective, mut pushed) = (BTreeSet::new(), 0);
        for _ in 0..FILTERS {
            let filter = next();
            let wanted = all.iter().filter(|row| filter.matches(row)).map(known).collect();
            let wanted: Vec<String> = sorted(wanted);
            for method in MethodName::ALL {
                if method == MethodName::Procfs && filter.asks_for_interface() {
                    continue;
                }
                let listed = sorted(list(method, Some(&filter)).iter().map(known).collect());
                assert_eq!(listed, wanted, "seed {seed:?}, {method}: {filter}");
            }
            pushed += usize::from(!filter.bytecode().bytes().is_empty());
            if !wanted.is_empty() && wanted.len() < all.len() {
                selective.insert(wanted);
            }
        }
        assert!(pushed > FILTERS / 3, "seed {seed:?}: only {pushed} had code");
        let selections = selective.len();
        assert!(selections > 30, "seed {seed:?}: only {selections} different selections");
    });
}

fn expression(text: &str) -> Option<Expression> {
    Filter::parse(text).expect("valid").expression
}

/// A filter whose code is not its own.
fn with_code(text: &str, bytes: &[u8], exact: bool) -> Filter {
    let bytecode = Bytecode { bytes: bytes.to_vec(), exact };
    Filter { states: None, expression: expression(text), bytecode }
}

/// The code of a filter that wants nothing.
const NOTHING: [u8; 4] = if cfg!(target_endian = "little") { [1, 4, 8, 0] } else { [1, 4, 0, 8] };

#[test]
fn it_is_the_kernel_that_leaves_sockets_out() {
    in_own_namespace(|| {
        let _sockets = Sockets::set_up();
        let listed = |filter| list(MethodName::Diag, Some(&filter)).len();
        let right = listed(Filter::parse("sport = :22").expect("valid"));
        assert!(right > 2 && right < all().len());
        assert_eq!(listed(with_code("sport = :22", &NOTHING, true)), 0);
        assert_eq!(listed(with_code("sport = :22", &NOTHING, false)), 0);
        let everything = Filter::parse("sport >= :0").expect("valid");
        let everything = everything.bytecode().bytes();
        assert_eq!(listed(with_code("sport = :22", everything, true)), all().len());
        assert_eq!(listed(with_code("sport = :22", everything, false)), right);
        assert_eq!(listed(with_code("sport = :22", &[], false)), right);
    });
}

#[test]
fn a_kernel_that_refuses_the_code_is_done_without() {
    in_own_namespace(|| {
        let _sockets = Sockets::set_up();
        // An operation that no kernel has; for an older one, `dev` is such.
        for exact in [false, true] {
            let mut code = NOTHING;
            code[0] = 99;
            let filter = with_code("sport = :22", &code, exact);
            let wanted = all().iter().filter(|row| filter.matches(row)).count();
            assert!(wanted > 2);
            assert_eq!(list(MethodName::Diag, Some(&filter)).len(), wanted);
        }
    });
}

#[test]
fn the_interface_is_not_told_by_all() {
    in_own_namespace(|| {
        let _sockets = Sockets::set_up();
        let filter = Filter::parse("dev 1").expect("valid");
        let rows = list(MethodName::Diag, Some(&filter));
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].state, rows[0].local.port()), (State::Close, 4444));
        let error = try_list(MethodName::Procfs, Transport::Udp, Some(&filter));
        let error = error.expect_err("procfs does not know it");
        assert!(matches!(error, Error::NotTold { .. }), "{error}");
        assert!(error.to_string().contains("--method diag"), "{error}");
    });
}
