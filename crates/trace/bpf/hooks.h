/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * The contexts of a control group's programs (include/uapi/linux/bpf.h): their layout is fixed, and
 * the kernel need not describe its types to run them.
 */
#ifndef PORTOLAN_HOOKS_H
#define PORTOLAN_HOOKS_H

#include "packet.h"

struct bpf_sock_ops {
	__u32 op;
	__u32 args[4];
	__u32 family;
	__be32 remote_ip4;
	__be32 local_ip4;
	__be32 remote_ip6[4];
	__be32 local_ip6[4];
	__u32 remote_port; /* network byte order, in the upper half as the lower addresses have it */
	__u32 local_port;  /* host byte order */
	__u32 is_fullsock;
	__u32 snd_cwnd;
	__u32 srtt_us;
	__u32 bpf_sock_ops_cb_flags;
	__u32 state;
	__u32 rtt_min;
	__u32 snd_ssthresh;
	__u32 rcv_nxt;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 skipped[6];
	__u32 total_retrans;
	__u32 segs_in;
	__u32 skipped_too[6];
	__u64 bytes_received;
	__u64 bytes_acked;
	struct bpf_sock *sk;
	void *skb_data; /* from TCP's header on */
	void *skb_data_end;
	__u32 skb_len;
	__u32 skb_tcp_flags;
};

_Static_assert(__builtin_offsetof(struct bpf_sock_ops, remote_port) == 64, "uapi/linux/bpf.h");
_Static_assert(__builtin_offsetof(struct bpf_sock_ops, snd_una) == 108, "uapi/linux/bpf.h");
_Static_assert(__builtin_offsetof(struct bpf_sock_ops, total_retrans) == 136, "uapi/linux/bpf.h");
_Static_assert(__builtin_offsetof(struct bpf_sock_ops, bytes_received) == 168, "uapi/linux/bpf.h");
_Static_assert(__builtin_offsetof(struct bpf_sock_ops, skb_tcp_flags) == 212, "uapi/linux/bpf.h");

/* Which of a socket's turns it is, and which of those that have to be asked for. */
enum { BPF_SOCK_OPS_TCP_CONNECT_CB = 3, BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB };
enum { BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5, BPF_SOCK_OPS_RTO_CB = 8 };
enum { BPF_SOCK_OPS_STATE_CB = 10, BPF_SOCK_OPS_TCP_LISTEN_CB, BPF_SOCK_OPS_PARSE_HDR_OPT_CB = 13 };
enum { BPF_SOCK_OPS_RTO_CB_FLAG = 1, BPF_SOCK_OPS_STATE_CB_FLAG = 4 };
enum { BPF_SOCK_OPS_PARSE_ALL_HDR_OPT_CB_FLAG = 16 };

struct bpf_sock_addr {
	__u32 user_family;
	__be32 user_ip4;
	__be32 user_ip6[4];
	__u32 user_port; /* network byte order */
	__u32 family;
	__u32 type;
	__u32 protocol;
	__be32 msg_src_ip4;
	__be32 msg_src_ip6[4];
	__u32 hole;
	struct bpf_sock *sk;
};

_Static_assert(__builtin_offsetof(struct bpf_sock_addr, protocol) == 36, "uapi/linux/bpf.h");
_Static_assert(__builtin_offsetof(struct bpf_sock_addr, sk) == 64, "uapi/linux/bpf.h");

/* RFC 9293, 3.1. */
struct tcp {
	__be16 source;
	__be16 destination;
	__be32 sequence;
	__be32 acknowledgment;
	__u8 words; /* of the header, in the upper half */
	__u8 flags;
	__be16 window;
	__be16 checksum;
	__be16 urgent;
};

enum { TCP_FIN = 1 };

#endif
