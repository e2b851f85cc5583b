/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reads a file of /proc, and says how it came and what was in it. */
#define _GNU_SOURCE
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TABLE_BYTES_MAX = 4 << 20, READS_MAX = 1 << 16 };

int opened(const char *path)
{
	int fd = open(path, O_RDONLY);

	need(fd >= 0, path);
	return fd;
}

struct table read_on(int fd, size_t buffer)
{
	struct table table = { malloc(TABLE_BYTES_MAX), 0, malloc(READS_MAX * sizeof(int)), 0 };

	need(table.bytes && table.reads, "memory");
	for (;;) {
		ssize_t got;

		need(table.size + buffer <= TABLE_BYTES_MAX && table.read_count < READS_MAX,
		     "a table that is larger than it can be");
		got = read(fd, table.bytes + table.size, buffer);
		need(got >= 0, "read");
		if (got == 0)
			return table;
		table.reads[table.read_count++] = got;
		table.size += got;
	}
}

struct table read_file(const char *path, size_t buffer)
{
	int fd = opened(path);
	struct table table = read_on(fd, buffer);

	close(fd);
	return table;
}

void release(struct table *table)
{
	free(table->bytes);
	free(table->reads);
}

static int by_size(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

int largest(const struct table *table)
{
	int most = 0;

	for (int i = 0; i < table->read_count; i++)
		most = table->reads[i] > most ? table->reads[i] : most;
	return most;
}

static int median(const struct table *table)
{
	int *sorted = malloc((table->read_count + 1) * sizeof(int)), middle;

	need(sorted != NULL, "memory");
	memcpy(sorted, table->reads, table->read_count * sizeof(int));
	qsort(sorted, table->read_count, sizeof(int), by_size);
	middle = table->read_count ? sorted[table->read_count / 2] : 0;
	free(sorted);
	return middle;
}

/*
 * Counts complete lines, and adds up a hash (FNV-1a) of what each says about a socket that does
 * not differ between boots: both ends and the state. A sum, since the order does differ.
 */
static int lines(const struct table *table, uint64_t *digest)
{
	int count = 0;
	const char *end = table->bytes + table->size;

	*digest = 0;
	for (const char *line = table->bytes; line < end; count++) {
		const char *next = memchr(line, '\n', end - line);
		const char *text = memchr(line, ':', end - line);
		uint64_t hash = 0xcbf29ce484222325;

		if (!next)
			break;
		for (int space = 0; count && text && text < next && space < 4; text++) {
			hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
			space += *text == ' ';
		}
		*digest += count ? hash : 0;
		line = next + 1;
	}
	return count;
}

static long microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

struct table report(const char *path, size_t buffer)
{
	struct table table = read_file(path, buffer);
	uint64_t digest;
	int count = lines(&table, &digest);
	long best = -1;

	for (int i = 0; i < 5; i++) {
		long before = microseconds(), took;
		struct table again = read_file(path, buffer);

		took = microseconds() - before;
		best = best < 0 || took < best ? took : best;
		release(&again);
	}
	printf("KT read %s %zu %d %d %d %d %016lx %ld\n", path, buffer, table.read_count,
	       median(&table), largest(&table), count, digest, best);
	return table;
}
