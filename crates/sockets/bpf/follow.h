/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * A change of a connection's state as the program tells of it, and what user space asks about
 * sockets that were not complete then. src/follow/event.rs and src/follow/question.rs have the same
 * offsets.
 */
#ifndef PORTOLAN_FOLLOW_H
#define PORTOLAN_FOLLOW_H

#include "row.h"

/* The row with its new state; of the addresses, only the first 8 bytes for AF_INET. */
struct event {
	__u64 address; /* of the socket in the kernel's memory, to ask about it later; once it is
			* closed, of the chain where one in TIME-WAIT would stand in for it */
	__u32 netns;   /* inode number of its network namespace */
	__u32 bucket;  /* the number of that chain, or AT_SOCKET */
	struct row row;
	__be32 addresses[8];
};

#define AT_SOCKET 0xffffffff
#define EVENT_V4_BYTES 64
#define EVENT_V6_BYTES 88
_Static_assert(sizeof(struct event) == EVENT_V6_BYTES, "src/follow/event.rs reads it so");
_Static_assert(__builtin_offsetof(struct event, netns) == 8, "src/follow/event.rs");
_Static_assert(__builtin_offsetof(struct event, bucket) == 12, "src/follow/event.rs");
_Static_assert(__builtin_offsetof(struct event, row) == 16, "src/follow/event.rs");
_Static_assert(__builtin_offsetof(struct event, addresses) == 56, "src/follow/event.rs");

/* Answered in its own place: the family is 0 where that socket is no longer there. */
struct question {
	__u64 address;
	__u64 cookie;
	union {
		__u32 bucket; /* as above */
		struct row row; /* of a listener, receive_queue is how many are half-open */
	};
	__be32 addresses[8];
};

enum { IS_GONE, IS_UNKNOWN = 255 }; /* as a family */

#define QUESTIONS_MAX 1024
_Static_assert(sizeof(struct question) == EVENT_V6_BYTES, "src/follow/question.rs");
_Static_assert(__builtin_offsetof(struct question, bucket) == 16, "src/follow/question.rs");
_Static_assert(__builtin_offsetof(struct question, row) == 16, "src/follow/question.rs");

#endif
