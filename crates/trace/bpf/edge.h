/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * What the programs count, and under which key. src/edge.rs has the same offsets. All numbers are
 * in host byte order but addresses, which are in network byte order; IPv4 is IPv4-mapped (RFC 4291,
 * 2.5.5.2).
 */
#ifndef PORTOLAN_EDGE_H
#define PORTOLAN_EDGE_H

enum side { ACTIVE = 1, PASSIVE = 2 };

/* Who uses which service of whom, from one end. */
struct edge {
	__u64 cgroup; /* of the process: inode number in the unified hierarchy; 0: not known */
	__be32 local[4];
	__be32 remote[4];
	char name[16]; /* of the process (comm of its first thread); empty: not known */
	__u32 netns;   /* inode number of the network namespace; BY_COOKIE: see struct listed */
	__u16 port;    /* the listening port */
	__u16 other;   /* the ephemeral one, where that is kept; else 0 */
	__u8 side;
	__u8 transport; /* IPPROTO_TCP, IPPROTO_UDP */
	__u8 guessed;   /* the side was concluded from the ports */
	__u8 zero[5];
};

#define EDGE_BYTES 72
_Static_assert(sizeof(struct edge) == EDGE_BYTES, "src/edge.rs");
_Static_assert(__builtin_offsetof(struct edge, local) == 8, "src/edge.rs");
_Static_assert(__builtin_offsetof(struct edge, remote) == 24, "src/edge.rs");
_Static_assert(__builtin_offsetof(struct edge, name) == 40, "src/edge.rs");
_Static_assert(__builtin_offsetof(struct edge, netns) == 56, "src/edge.rs");
_Static_assert(__builtin_offsetof(struct edge, port) == 60, "src/edge.rs");
_Static_assert(__builtin_offsetof(struct edge, side) == 64, "src/edge.rs");

/* What most connections count comes first and fits one cache line: processors hand it to each
 * other. */
struct totals {
	__u64 opened;
	__u64 closed;
	__u64 sent;
	__u64 received;
	__u64 rtt_us_sum;
	__u64 rtt_samples;
	__u64 duration_us_sum;
	__u32 pid; /* of a process that was there */
	__u32 zero;
	__u64 resets;
	__u64 refused;
	__u64 timed_out;
	__u64 unreachable;
	__u64 abandoned;
	__u64 datagrams_sent;
	__u64 datagrams_received;
	__u64 retransmits;
	__u64 up; /* connections that the walk met */
};

#define TOTALS_BYTES 136
_Static_assert(sizeof(struct totals) == TOTALS_BYTES, "src/edge.rs");
_Static_assert(__builtin_offsetof(struct totals, pid) == 56, "src/edge.rs");
_Static_assert(__builtin_offsetof(struct totals, resets) == 64, "src/edge.rs");

/* An event of the method `stream`. */
struct event {
	struct edge edge;
	struct totals totals;
};

/* A port that listens, by where. */
struct listening {
	__be32 address[4];
	__u32 netns;
	__u16 port;
	__u8 transport;
	__u8 zero;
};

struct listener {
	__u64 cgroup;
	char name[16];
	__u32 pid;
	__s32 sockets; /* several may share it (SO_REUSEPORT) */
};

_Static_assert(sizeof(struct listening) == 24, "src/listeners.rs");
_Static_assert(sizeof(struct listener) == 32, "src/listeners.rs");

/* Who was seen to use a socket. */
struct caller {
	__u64 cgroup;
	char name[16]; /* see read_caller() of caller.h */
	__u32 pid;
	__u32 netns; /* the lower half of its cookie */
};

_Static_assert(sizeof(struct caller) == 32, "src/listed.rs");

/* A socket as the kernel lists it (inet_diag, tcp_info). */
struct listed {
	__u64 cookie;
	__u64 taken_us;     /* the clock before the listing began; later connections are others */
	__u64 sent;         /* sequence numbers: acknowledged and under way; a SYN too, no FIN */
	__u64 sent_max;     /* bytes that left, what this host dropped itself twice */
	__u64 received;     /* a FIN too */
	__u64 cgroup;
	char name[16];      /* of who holds it; empty: not known */
	__u32 pid;
	__u32 retransmits;
	__u32 rtt_us;
	__u32 netns;        /* the lower half of its cookie */
	__be32 local[4];
	__be32 remote[4];
	__u16 local_port;
	__u16 remote_port;
	__u8 state;         /* include/net/tcp_states.h */
	__u8 side;
	__u8 guessed;
	__u8 is_first;      /* it was there before: to be followed from now on */
	__u64 zero;
};

_Static_assert(sizeof(struct listed) == 128, "src/listed.rs");
_Static_assert(__builtin_offsetof(struct listed, name) == 48, "src/listed.rs");
_Static_assert(__builtin_offsetof(struct listed, netns) == 76, "src/listed.rs");
_Static_assert(__builtin_offsetof(struct listed, local_port) == 112, "src/listed.rs");
_Static_assert(__builtin_offsetof(struct listed, is_first) == 119, "src/listed.rs");

enum { METHOD_BUNDLE, METHOD_AGGREGATE, METHOD_STREAM };

/* What all programs look at, in one cache line. User space sets the settings before it loads. */
struct state {
	__u32 method;
	__u32 places_bits; /* log2 of the number of places for connections */
	__u16 ephemeral_first;
	__u16 ephemeral_last;
	/* Not user space's: */
	__u32 current; /* which of the two maps is written */
	__u32 ready;   /* the connections that were there before are known */
	__u32 crossed; /* there were connections with a handshake from both ends */
	__u64 parked; /* connections that found no place; never less than there are */
	__u32 torn;   /* the listing of this reading has not all that there is (listed.h) */
};

/* What is missing, and why. src/loss.rs has the same order. */
struct losses {
	__u64 overflow;   /* updates that went to the row for all that found no room */
	__u64 queue_full; /* events of the method `stream` that found no room */
	__u64 untracked;  /* connections that ended, and whose beginning was not seen */
	__u64 no_room;    /* connections that could not be followed from their beginning */
	__u64 listeners;  /* listeners that found no room */
	__u64 stale;      /* connections that must have ended unseen */
	__u64 not_counted; /* updates that were not even possible in the row for the rest */
};

#endif
