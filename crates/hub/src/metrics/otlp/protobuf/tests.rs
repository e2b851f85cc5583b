use proptest::prelude::*;
use prost::Message;

use super::{Field, Writer, fields};

/// The same fields, by prost.
#[derive(Clone, PartialEq, Message)]
struct Peer {
    #[prost(uint64, tag = "1")]
    varint: u64,
    #[prost(fixed64, tag = "2")]
    fixed: u64,
    #[prost(double, tag = "3")]
    double: f64,
    #[prost(string, tag = "16")]
    text: String,
    #[prost(message, optional, boxed, tag = "2000")]
    inner: Option<Box<Peer>>,
}

fn write(peer: &Peer, writer: &mut Writer) {
    writer.varint(1, peer.varint);
    writer.fixed64(2, peer.fixed);
    writer.double(3, peer.double);
    writer.string(16, &peer.text);
    if let Some(inner) = &peer.inner {
        writer.message(2000, |writer| write(inner, writer));
    }
}

fn peers() -> impl Strategy<Value = Peer> {
    let leaf = (any::<u64>(), any::<u64>(), -1e9..1e9, "\\PC{0,300}").prop_map(
        |(varint, fixed, double, text)| Peer { varint, fixed, double, text, inner: None },
    );
    leaf.prop_recursive(4, 8, 1, |inner| {
        inner.prop_map(|inner| Peer {
            varint: 300,
            inner: Some(Box::new(inner)),
            ..Peer::default()
        })
    })
}

proptest! {
    #[test]
    fn prost_reads_what_is_written(peer in peers()) {
        let mut writer = Writer::default();
        write(&peer, &mut writer);
        prop_assert_eq!(Peer::decode(&*writer.into_bytes()).expect("a message"), peer);
    }

    #[test]
    fn what_prost_writes_is_read(
        varint in 1..u64::MAX,
        fixed in 1..u64::MAX,
        text in "\\PC{1,300}",
    ) {
        let peer = Peer { varint, fixed, text: text.clone(), ..Peer::default() };
        let bytes = peer.encode_to_vec();
        let read: Vec<_> = fields(&bytes).collect();
        let fixed = fixed.to_le_bytes();
        let expected = vec![
            (1, Field::Number(varint)),
            (2, Field::Bytes(&fixed)),
            (16, Field::Bytes(text.as_bytes())),
        ];
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(fields(&bytes).count() <= bytes.len());
    }
}
