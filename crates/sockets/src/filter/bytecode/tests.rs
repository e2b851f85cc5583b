//! The code against an interpreter and a checker that follow the kernel's.

mod machine;

use proptest::prelude::*;

use super::*;
use crate::filter::{
    Filter,
    expression::Term,
    tests::generate::{expressions, row, rows},
};
use machine::{accepts, audit};

fn code(text: &str) -> Bytecode {
    Filter::parse(text).expect(text).bytecode().clone()
}

#[test]
fn codes_byte_by_byte() {
    if cfg!(target_endian = "big") {
        return;
    }
    let cases: [(&str, &[u8]); 9] = [
        ("", &[]),
        ("src *", &[]),
        ("not src *", &[1, 4, 8, 0]),
        ("src any and dport = :*", &[]),
        (
            "src inet:*",
            &[
                7, 28, 32, 0, 10, 0, 0, 0, 255, 255, 255, 255, //
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, //
                1, 4, 8, 0,
            ],
        ),
        ("sport >= :258", &[2, 8, 12, 0, 0, 0, 2, 1]),
        ("sport < :258", &[2, 8, 12, 0, 0, 0, 2, 1, 1, 4, 8, 0]),
        ("dport = :258", &[8, 12, 16, 0, 0, 0, 0, 0, 2, 1, 0, 0]),
        (
            "dst 10.0.0.0/8 or dev 7",
            &[
                8, 16, 20, 0, 2, 8, 0, 0, 255, 255, 255, 255, 10, 0, 0, 0, //
                1, 4, 12, 0, //
                9, 8, 12, 0, 7, 0, 0, 0,
            ],
        ),
    ];
    for (text, expected) in cases {
        let code = code(text);
        assert_eq!((code.bytes(), code.is_exact()), (expected, true), "{text}");
    }
}

#[test]
fn what_the_kernel_cannot_test_is_left_to_us() {
    for (text, same) in [
        ("uid = 0", ""),
        ("not uid = 0", ""),
        ("sport 1 and uid = 0", "sport 1"),
        ("sport 1 or uid = 0", ""),
        ("not ( sport 1 or uid = 0 )", "sport != 1"),
        ("not ( sport 1 and uid = 0 )", ""),
        ("( sport 1 or uid = 0 ) and ( sport 2 or sport 3 )", "sport 2 or sport 3"),
    ] {
        let (code, same) = (code(text), code(same));
        assert!(!code.is_exact(), "{text}");
        assert_eq!(code.bytes(), same.bytes(), "{text}");
    }
}

fn port(number: u16) -> Expression {
    let comparison = crate::filter::expression::Comparison::Equal;
    Expression::Term(Term::Port(End::Local, comparison, number))
}

fn opposite(expression: Expression) -> Expression {
    Expression::Not(Box::new(expression))
}

#[test]
fn what_is_too_long_is_left_to_us() {
    let many: Vec<Expression> = (0..4000).map(port).collect();
    let any = Expression::Any(many.clone());
    let code = Bytecode::of(Some(&any));
    assert!(code.bytes().is_empty() && !code.is_exact());
    // Of conditions that all have to be true, those that there is room for.
    let none_of_many = opposite(any.clone());
    let code = Bytecode::of(Some(&none_of_many));
    assert!(!code.is_exact());
    assert_eq!(audit(code.bytes()), Ok(()));
    assert!((BYTECODE_BYTES_MAX - 16..=BYTECODE_BYTES_MAX).contains(&code.bytes().len()));
    assert!(!accepts(code.bytes(), &row("127.0.0.1:7", "127.0.0.1:1")));
    assert!(accepts(code.bytes(), &row("127.0.0.1:3999", "127.0.0.1:1")));
    let code = Bytecode::of(Some(&Expression::All(vec![any, opposite(port(1))])));
    assert!(!code.is_exact() && code.bytes().len() == 16);
    assert!(!accepts(code.bytes(), &row("127.0.0.1:1", "127.0.0.1:1")));
}

#[test]
fn the_longest_filters_have_room() {
    for term in ["sport 1 ", "dst ::/1 ", "!dst ::/1 ", "!(!dst ::/1 dst ::/2)|"] {
        let mut text = term.repeat(crate::filter::TEXT_BYTES_MAX / term.len());
        text.truncate(text.trim_end_matches('|').len());
        let code = code(&text);
        assert!(code.is_exact() && audit(code.bytes()) == Ok(()), "{term}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_kernel_takes_the_code(expression in expressions(true)) {
        let code = Bytecode::of(Some(&expression));
        prop_assert!(code.bytes().is_empty() || audit(code.bytes()) == Ok(()), "{}", expression);
    }

    #[test]
    fn the_code_accepts_what_matches_and_nothing_else(
        expression in expressions(false),
        rows in proptest::collection::vec(rows(), 1..20),
    ) {
        let code = Bytecode::of(Some(&expression));
        prop_assert!(code.is_exact());
        for row in rows {
            prop_assert_eq!(
                accepts(code.bytes(), &row), expression.matches(&row), "{} {:?}", expression, row
            );
        }
    }

    #[test]
    fn code_that_is_not_exact_accepts_at_least_what_matches(
        expression in expressions(true),
        rows in proptest::collection::vec(rows(), 1..20),
    ) {
        let code = Bytecode::of(Some(&expression));
        for row in rows {
            let (accepted, matches) = (accepts(code.bytes(), &row), expression.matches(&row));
            prop_assert!(accepted || !matches, "{} {:?}", expression, row);
            prop_assert!(!code.is_exact() || accepted == matches, "{} {:?}", expression, row);
        }
    }
}
