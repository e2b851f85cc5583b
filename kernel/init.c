/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The init of the machine that `make kernel-test` boots: it makes sockets, reads the kernel's
 * tables of them in every way that a reader may, and prints what it saw, for scripts/kernel-test
 * to compare between a kernel with and without the patch.
 *
 * Lines for the script:
 *   KT read FILE BUFFER READS MEDIAN LARGEST LINES DIGEST MICROSECONDS   a table, and how it came
 *   KT other FILE READS LARGEST                                 a file that must not change
 *   KT accounted FILE READERS KIB                               memory that readers take
 *   KT fail WHAT                                                a check that failed
 *   KT end FAILURES                                             the last line
 *
 * Read main() first, then test.h.
 */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <unistd.h>

int failures;

void fail(const char *format, ...)
{
	va_list arguments;

	printf("KT fail ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	failures++;
}

void need(bool done, const char *what)
{
	if (done)
		return;
	fail("%s: %s", what, strerror(errno));
	printf("KT end %d\n", failures);
	fflush(stdout);
	reboot(RB_AUTOBOOT);
	_exit(1);
}

static int by_inode(const void *left, const void *right)
{
	unsigned long a = *(const unsigned long *)left, b = *(const unsigned long *)right;

	return (a > b) - (a < b);
}

/* Each socket that was made stands in the table once, and nothing else does. */
static void check_sockets(const char *path, const struct table *table, struct made *made)
{
	static unsigned long seen[SOCKETS_MAX];
	int count = 0;
	const char *line = memchr(table->bytes, '\n', table->size);
	const char *end = table->bytes + table->size;

	while (line && line + 1 < end && count < SOCKETS_MAX) {
		char text[256] = "";
		const char *next = memchr(line + 1, '\n', end - line - 1);

		if (!next || next - line >= (long)sizeof(text))
			break;
		memcpy(text, line + 1, next - line - 1);
		if (sscanf(text, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %lu", &seen[count]) != 1)
			break;
		count++;
		line = next;
	}
	if (!line || line + 1 != end)
		fail("%s: its last line is not complete", path);
	qsort(seen, count, sizeof(seen[0]), by_inode);
	qsort(made->inodes, made->count, sizeof(seen[0]), by_inode);
	if (count != made->count || memcmp(seen, made->inodes, count * sizeof(seen[0])))
		fail("%s: %d lines do not show the %d sockets that were made", path, count,
		     made->count);
}

static void same(const char *path, const char *how, const struct table *whole, size_t offset,
		 const struct table *part)
{
	if (part->size != whole->size - offset ||
	    memcmp(part->bytes, whole->bytes + offset, part->size))
		fail("%s: %s gives other bytes than reading it with a buffer of 64 KiB", path, how);
}

static void check_buffers(const char *path, const struct table *whole)
{
	static const int buffers[] = { 137, 1000, 4096, 4097, 65535, 65537, 1 << 20 };
	struct table part;

	for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) {
		part = read_file(path, buffers[i]);
		same(path, "another buffer", whole, 0, &part);
		release(&part);
	}
}

static void check_lseek(const char *path, const struct table *whole)
{
	const size_t offsets[] = { 0, 1, 4095, 65535, 65537, whole->size / 2 + 1, whole->size - 1 };
	int fd = opened(path);
	char scrap[777];
	struct table part;

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		/* Leave something in the buffer, which the seek has to throw away. */
		if (read(fd, scrap, sizeof(scrap)) < 0)
			fail("%s: read before lseek: %s", path, strerror(errno));
		if (lseek(fd, offsets[i], SEEK_SET) != (off_t)offsets[i])
			fail("%s: lseek to %zu: %s", path, offsets[i], strerror(errno));
		part = read_on(fd, BIG);
		same(path, "lseek", whole, offsets[i], &part);
		release(&part);
		lseek(fd, 0, SEEK_SET);
	}
	/* A seek before the first read: it is lseek that allocates the buffer. */
	close(fd);
	fd = opened(path);
	if (lseek(fd, 100001, SEEK_CUR) != 100001)
		fail("%s: lseek before read: %s", path, strerror(errno));
	part = read_on(fd, SMALL);
	same(path, "lseek before read", whole, 100001, &part);
	release(&part);
	close(fd);
}

static void check_pread(const char *path, const struct table *whole)
{
	static const int sizes[] = { 1, 150, 4097, BIG };
	static char bytes[BIG];
	int fd = opened(path), turn = 0;
	struct table part;

	for (size_t offset = 1; offset < whole->size; offset += 20011, turn++) {
		ssize_t got = pread(fd, bytes, sizes[turn % 4], offset);

		/* Up to a buffer's worth, at least a byte, and never other bytes. */
		if (got < 1 || (size_t)got > whole->size - offset ||
		    memcmp(bytes, whole->bytes + offset, got))
			fail("%s: pread of %d at %zu gives %zd and other bytes", path,
			     sizes[turn % 4], offset, got);
	}
	if (pread(fd, bytes, BIG, whole->size) != 0)
		fail("%s: pread at the end gives something", path);
	/* All that left the file's own position where it was. */
	part = read_on(fd, BIG);
	same(path, "read after pread", whole, 0, &part);
	release(&part);
	close(fd);
}

static void check_table(const char *path, struct made *made)
{
	struct table whole = report(path, BIG), small = report(path, SMALL);

	same(path, "a buffer of 4 KiB", &whole, 0, &small);
	check_sockets(path, &whole, made);
	check_buffers(path, &whole);
	check_lseek(path, &whole);
	check_pread(path, &whole);
	check_memory(path);
	release(&small);
	release(&whole);
}

/* Files of other kinds; the script compares them between the kernels. */
static void other(const char *path, bool constant)
{
	struct table big = read_file(path, BIG), small = read_file(path, 1000);

	if (big.size == 0)
		fail("%s: is empty", path);
	if (constant)
		same(path, "a buffer of 1,000 bytes", &big, 0, &small);
	printf("KT other %s %d %d\n", path, big.read_count, largest(&big));
	release(&small);
	release(&big);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Whatever the firmware left on the line. */
	printf("\n");
	prepare_machine();
	prepare_cgroups();
	make_sockets();
	/* Delayed acknowledgements have run out by then: the tables hold still. */
	sleep(2);
	check_table("/proc/net/tcp", &made_tcp);
	check_table("/proc/net/tcp6", &made_tcp6);
	check_table("/proc/net/udp", &made_udp);
	check_table("/proc/net/udp6", &made_udp6);
	other("/proc/net/udplite", true);
	other("/proc/net/raw", true);
	other("/proc/net/protocols", true);
	other("/proc/net/netstat", false);
	other("/proc/mounts", true);
	other("/proc/self/maps", false);
	printf("KT end %d\n", failures);
	fflush(stdout);
	sync();
	reboot(RB_AUTOBOOT);
	return 0;
}
