/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * What user space and connections.bpf.c tell each other; src/walk/chunk.rs has the same offsets.
 */
#ifndef PORTOLAN_CHUNK_H
#define PORTOLAN_CHUNK_H

#include "row.h"

#define ROWS_BYTES (256 * 1024)
#define ROW_BYTES_MAX (ROW_BYTES + 32)

/* What a run leaves. */
struct chunk {
	__u32 used; /* bytes of rows */
	__u32 next; /* the bucket to go on with */
	__u32 torn; /* chains that would not hold still */
	__u32 skip; /* sockets of that bucket that were read: its chain fills more than a buffer */
	__u64 head; /* what its chain began with then */
	/* Not in struct walk, where the verifier would follow each count. */
	__u32 visited; /* sockets in this run */
	__u32 index;   /* of the next one in its chain */
	__u8 rows[ROWS_BYTES + ROW_BYTES_MAX];
};

/* One for each thread that walks. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, struct chunk);
} chunks SEC(".maps");

/* What user space asks for, as the program's arguments: which buffer to fill, the bucket to go on
 * with and how many of its sockets to skip, which of how many equal slices of the table, the states
 * (bit n for state n), WANT_*. */
enum { ARG_CHUNK, ARG_NEXT, ARG_SKIP, ARG_SLICE, ARG_SLICES, ARG_STATES, ARG_WANT };

_Static_assert(__builtin_offsetof(struct chunk, skip) == 12, "src/walk/chunk.rs reads it so");
_Static_assert(__builtin_offsetof(struct chunk, rows) == 32, "src/walk/chunk.rs reads it so");

#endif
