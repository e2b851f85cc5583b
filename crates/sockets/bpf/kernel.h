/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * The few fields of the kernel's structures that the programs here read. libbpf finds their real
 * offsets in the running kernel's own type information (CO-RE), so neither order nor what is left
 * out matters. Each structure that a program begins at costs a search of that information when it
 * is loaded, about half a millisecond: what is inside another is reached through it.
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

#define true 1
#define false 0

enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_RINGBUF = 27 };
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };

/* include/net/tcp_states.h */
enum { TCP_ESTABLISHED = 1, TCP_SYN_RECV = 3, TCP_TIME_WAIT = 6, TCP_CLOSE = 7 };
enum { TCP_LISTEN = 10, TCP_NEW_SYN_RECV = 12 };
enum { AF_INET = 2, AF_INET6 = 10 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

/* A structure that begins with a plain 64-bit number: what any word of the kernel's memory can be
 * read as. */
struct timespec64 {
	__s64 tv_sec;
};

struct hlist_nulls_node {
	struct hlist_nulls_node *next;
};

struct hlist_node {
	struct hlist_node **pprev;
};

struct timer_list {
	struct hlist_node entry;
	unsigned long expires;
};

struct ns_common {
	__u32 inum;
};

struct inet_hashinfo {
	void *ehash;
	__u32 ehash_mask;
};

struct inet_timewait_death_row {
	struct inet_hashinfo *hashinfo;
};

struct netns_ipv4 {
	struct inet_timewait_death_row tcp_death_row;
};

struct net {
	struct ns_common ns;
	struct netns_ipv4 ipv4;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
};

typedef struct {
	__s64 counter;
} atomic64_t;

typedef struct {
	int counter;
} atomic_t;

typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;

typedef struct {
	__u32 val;
} kuid_t;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__u32 skc_hash;
	__be16 skc_dport;
	__u16 skc_num;
	__u16 skc_family;
	volatile __u8 skc_state;
	int skc_bound_dev_if;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	atomic64_t skc_cookie;
	struct hlist_nulls_node skc_nulls_node;
	refcount_t skc_refcnt;
};

struct super_block {
	unsigned long s_magic;
};

struct inode {
	__u16 i_mode;
	kuid_t i_uid;
	struct super_block *i_sb;
	unsigned long i_ino;
};

struct file {
	struct inode *f_inode;
};

struct sock;

struct socket {
	__s16 type;
	struct file *file;
	struct sock *sk;
};

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

struct sock {
	struct sock_common __sk_common;
	struct {
		atomic_t rmem_alloc;
	} sk_backlog;
	struct socket *sk_socket;
	refcount_t sk_wmem_alloc;
	struct timer_list sk_timer;
	kuid_t sk_uid;
	__u16 sk_protocol;
	__u32 sk_ack_backlog;
	__u32 sk_max_ack_backlog;
	unsigned long sk_ino; /* since 6.17 */
};

struct inet_sock {
	struct sock sk;
};

struct fastopen_queue {
	int qlen;
};

struct request_sock_queue {
	atomic_t qlen;
	struct fastopen_queue fastopenq;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	struct request_sock_queue icsk_accept_queue;
	unsigned long icsk_timeout; /* until 6.14 */
	struct timer_list icsk_retransmit_timer; /* until 6.18, then sk_timer */
	struct timer_list icsk_keepalive_timer; /* since 6.19; before, sk_timer */
	__u8 icsk_retransmits;
	__u8 icsk_pending;
	__u8 icsk_probes_out;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 rcv_nxt;
	__u32 copied_seq;
	__u32 write_seq;
	__u32 snd_una;
};

struct inet_timewait_sock {
	volatile __u8 tw_substate;
	struct timer_list tw_timer;
};

struct tcp_timewait_sock {
	struct inet_timewait_sock tw_sk;
};

struct request_sock {
	__u8 num_retrans;
	struct timer_list rsk_timer;
};

struct inet_request_sock {
	struct request_sock req;
};

struct tcp_request_sock {
	struct inet_request_sock req;
};

struct udp_sock {
	struct inet_sock inet;
	int forward_deficit;
};

struct list_head {
	struct list_head *next;
};

struct upid {
	int nr;
	void *ns;
};

struct pid {
	__u32 level;
	struct upid numbers[1];
};

struct fdtable {
	__u32 max_fds;
	void **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct nsproxy {
	struct net *net_ns;
};

struct signal_struct {
	struct list_head thread_head;
};

struct task_struct {
	struct list_head tasks;
	struct list_head thread_node;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct pid *thread_pid;
	struct nsproxy *nsproxy;
	struct files_struct *files;
};

#pragma clang attribute pop

#endif
