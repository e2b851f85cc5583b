/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * The context of a program that sees packets (include/uapi/linux/bpf.h): its layout is fixed.
 */
#ifndef PORTOLAN_PACKET_H
#define PORTOLAN_PACKET_H

struct bpf_sock {
	__u32 bound_dev_if;
	__u32 family;
	__u32 type;
	__u32 protocol;
	__u32 mark;
	__u32 priority;
	__u32 src_ip4;
	__u32 src_ip6[4];
	__u32 src_port; /* host byte order */
	__be16 dst_port;
	__u16 zero;
	__be32 dst_ip4;
	__be32 dst_ip6[4];
	__u32 state;
};

struct __sk_buff {
	__u32 len;
	__u32 skipped[3];
	__u32 protocol; /* ethertype, network byte order */
	__u32 skipped_too[14];
	__u32 data;
	__u32 data_end;
	__u32 and_these[20];
	__u32 gso_segs;
	struct bpf_sock *sk;
};

_Static_assert(__builtin_offsetof(struct __sk_buff, protocol) == 16, "uapi/linux/bpf.h");
_Static_assert(__builtin_offsetof(struct __sk_buff, data) == 76, "uapi/linux/bpf.h");
_Static_assert(__builtin_offsetof(struct __sk_buff, gso_segs) == 164, "uapi/linux/bpf.h");
_Static_assert(__builtin_offsetof(struct __sk_buff, sk) == 168, "uapi/linux/bpf.h");
_Static_assert(__builtin_offsetof(struct bpf_sock, dst_port) == 48, "uapi/linux/bpf.h");
_Static_assert(__builtin_offsetof(struct bpf_sock, state) == 72, "uapi/linux/bpf.h");

/* RFC 791, RFC 8200, RFC 768. */
enum { IPV4_BYTES = 20, IPV6_BYTES = 40, UDP_BYTES = 8 };
enum { ETHERTYPE_IPV4 = 0x0800, ETHERTYPE_IPV6 = 0x86dd };

struct ipv4 {
	__u8 version_and_length;
	__u8 skipped[5];
	__be16 fragment; /* flags and offset */
	__u8 hops;
	__u8 protocol;
	__be16 checksum;
	__be32 source;
	__be32 destination;
};

struct ipv6 {
	__be32 version_class_and_label;
	__be16 length;
	__u8 next;
	__u8 hops;
	__be32 source[4];
	__be32 destination[4];
};

struct udp {
	__be16 source;
	__be16 destination;
	__be16 length;
	__be16 checksum;
};

#endif
