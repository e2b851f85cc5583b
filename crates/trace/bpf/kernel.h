/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * The few fields of the kernel's structures that the programs here read. libbpf finds their real
 * offsets in the running kernel's own type information (CO-RE), so neither order nor what is left
 * out matters.
 */
#ifndef PORTOLAN_KERNEL_H
#define PORTOLAN_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef __u16 __sum16;
typedef _Bool bool;

enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_LRU_HASH = 9 };
enum { BPF_MAP_TYPE_SK_STORAGE = 24, BPF_MAP_TYPE_RINGBUF = 27 };
enum { BPF_NOEXIST = 1, BPF_F_NO_PREALLOC = 1, BPF_RB_NO_WAKEUP = 1 };
enum { BPF_F_MMAPABLE = 1 << 10 };
enum { BPF_SK_STORAGE_GET_F_CREATE = 1 };

/* include/net/tcp_states.h */
enum { TCP_ESTABLISHED = 1, TCP_SYN_SENT, TCP_SYN_RECV, TCP_FIN_WAIT1, TCP_FIN_WAIT2 };
enum { TCP_TIME_WAIT = 6, TCP_CLOSE, TCP_CLOSE_WAIT, TCP_LAST_ACK, TCP_LISTEN, TCP_CLOSING };
enum { AF_INET = 2, AF_INET6 = 10, IPPROTO_TCP = 6, IPPROTO_UDP = 17 };
enum { SOCK_DGRAM = 2 };
/* uapi/asm-generic/errno.h */
enum { ETIMEDOUT = 110, ECONNREFUSED = 111, EHOSTUNREACH = 113 };
enum { ENETUNREACH = 101, EACCES = 13, ENONET = 64, EHOSTDOWN = 112 };
/* include/net/sock.h: a bit of sk_flags that tcp_fin() sets, and of sk_userlocks that bind() to a
 * port of one's own choice does. */
enum { SOCK_DONE = 1, SOCK_BINDPORT_LOCK = 8 };
/* include/linux/sched.h */
enum { PF_KTHREAD = 0x00200000 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

struct ns_common {
	__u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	__u16 skc_family;
	volatile __u8 skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	unsigned long skc_flags;
};

typedef struct {
	int counter;
} atomic_t;

typedef struct qspinlock {
	union {
		atomic_t val;
	};
} arch_spinlock_t;

struct raw_spinlock {
	arch_spinlock_t raw_lock;
};

typedef struct spinlock {
	union {
		struct raw_spinlock rlock;
	};
} spinlock_t;

typedef struct {
	spinlock_t slock;
	int owned;
} socket_lock_t;

struct sock {
	struct sock_common __sk_common;
	socket_lock_t sk_lock;
	__u8 sk_userlocks : 4; /* since 6.12 a byte of its own */
	__u8 sk_kern_sock : 1;
	__u16 sk_type;
	__u16 sk_protocol;
	int sk_err;
};

struct inet_sock {
	struct sock sk;
	__be16 inet_sport;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u64 tcp_mstamp;
	__u64 bytes_acked;
	__u64 bytes_received;
	__u32 write_seq;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 srtt_us;
	__u32 total_retrans;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	__u32 flags;
	int tgid;
	struct task_struct *group_leader;
	struct css_set *cgroups;
	char comm[16];
};

struct file;
struct seq_file;

struct socket {
	struct sock *sk;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

struct sk_buff {
	struct sock *sk;
	__u32 len;
	__u16 transport_header; /* from head on, as the next two */
	__u16 network_header;
	__u32 end; /* of the room for data, where struct skb_shared_info begins */
	unsigned char *head;
	unsigned char *data;
};

struct skb_shared_info {
	__u16 gso_size;
};

#pragma clang attribute pop

#endif
