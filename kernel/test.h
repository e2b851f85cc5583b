/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the parts of the test program share. init.c checks what comes, memory.c what it
 * takes; table.c reads a file of /proc; sockets.c makes the sockets that should show.
 */
#ifndef KERNEL_TEST_H
#define KERNEL_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SOCKETS_MAX = 1 << 16,
	BIG = 64 * 1024, /* what a reader asks for to profit from the patch */
	SMALL = 4 * 1024,
};

/* A table as it was read: its bytes, and the size of each read(). */
struct table {
	char *bytes;
	size_t size;
	int *reads;
	int read_count;
};

/* The inodes of the sockets made: what the tables have to show. */
struct made {
	unsigned long inodes[SOCKETS_MAX];
	int count;
};

extern struct made made_tcp, made_tcp6, made_udp, made_udp6;
extern int failures;

/* Prints that a check failed, and counts it. */
__attribute__((format(printf, 1, 2))) void fail(const char *format, ...);

/* What the test cannot do without: where it was not done, says so and ends the machine. */
void need(bool done, const char *what);

/* Mounts /proc, brings loopback up, and waits until the kernel is ready. */
void prepare_machine(void);

/* Fills the four made_ lists, and makes what the files that must not change show. */
void make_sockets(void);

/* Makes the cgroups that check_memory() runs readers in. */
void prepare_cgroups(void);

/* Checks what memory the readers of a file take. */
void check_memory(const char *path);

int opened(const char *path);

/* Reads on to the end of the file, `buffer` bytes at a time. */
struct table read_on(int fd, size_t buffer);

struct table read_file(const char *path, size_t buffer);

void release(struct table *table);

int largest(const struct table *table);

/* Prints how the file comes with this buffer, and the best time of some readings. */
struct table report(const char *path, size_t buffer);

#endif
