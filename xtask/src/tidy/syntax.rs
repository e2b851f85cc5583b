//! Looking into Rust sources.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Meta};

/// Whether one of the attributes is `#[cfg(...)]` with `test` in it.
pub fn is_cfg_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            any_ident(list.tokens.clone(), &|name| name == "test")
        }
        _ => false,
    })
}

fn any_ident(tokens: TokenStream, wanted: &dyn Fn(&str) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => wanted(&ident.to_string()),
        TokenTree::Group(group) => any_ident(group.stream(), wanted),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// Calls `found` with each identifier among the tokens, its line, and the token after it.
pub fn idents(tokens: TokenStream, found: &mut dyn FnMut(&str, usize, Option<&TokenTree>)) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(ident) => {
                found(&ident.to_string(), ident.span().start().line, tokens.peek());
            }
            TokenTree::Group(group) => idents(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}
