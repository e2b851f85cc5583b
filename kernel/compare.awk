# Compares what the program of kernel/*.c said on the kernel without the patch (first file) and on
# the one with it (second file): prints a table, and ends with 1 where they are not what they
# should be. The lines are described at the top of kernel/init.c. Called with -v kernel=VERSION
# and -v count=yes where a nanosecond of the machine's clock was an instruction.

function wrong(what) {
  print "kernel-test: " kernel ": " what > "/dev/stderr"
  failed = 1
}

FNR == 1 { flavour = NR == 1 ? "plain" : "patched" }

$1 == "KT" && $2 == "read" {
  if (flavour == "plain" && $4 == 65536) tables[++table_count] = $3
  reads[flavour, $3, $4] = $5
  median[flavour, $3, $4] = $6
  largest[flavour, $3, $4] = $7
  lines[flavour, $3, $4] = $8
  # A string, even where all of its digits could be those of a number.
  digest[flavour, $3, $4] = "x" $9
  microseconds[flavour, $3, $4] = $10
}

$1 == "KT" && $2 == "other" {
  if (flavour == "plain") others[++other_count] = $3
  reads[flavour, $3] = $4
  largest[flavour, $3] = $5
}

$1 == "KT" && $2 == "accounted" { accounted[flavour, $3] = $5 / $4 }

# One reading: FLAVOUR, FILE, the reader's buffer, and what a read() should return.
function check_reading(flavour, file, buffer, least, most,    key) {
  key = flavour SUBSEP file SUBSEP buffer
  if (median[key] < least || largest[key] > most)
    wrong(file " on the " flavour " kernel: with a buffer of " buffer " bytes a read() returns " \
      median[key] ", at most " largest[key] "; " least " to " most " were expected")
}

# The same sockets, whichever the kernel and the buffer.
function check_same(file, flavour, buffer,    key) {
  key = flavour SUBSEP file SUBSEP buffer
  if (lines[key] != lines["plain", file, 65536] || digest[key] != digest["plain", file, 65536])
    wrong(file " on the " flavour " kernel: with a buffer of " buffer " bytes the table is another")
}

function check_table(file) {
  # A page, or 64 KiB, less the line that does not fit any more (150 bytes, 171 for IPv6).
  check_reading("plain", file, 65536, 3800, 4096)
  check_reading("plain", file, 4096, 3800, 4096)
  check_reading("patched", file, 65536, 65000, 65536)
  check_reading("patched", file, 4096, 3800, 4096)
  check_same(file, "plain", 4096)
  check_same(file, "patched", 65536)
  check_same(file, "patched", 4096)
  check_accounted(file)
}

# The buffers are on the account of the reader's memory cgroup, and no more than they are.
function check_accounted(file,    more) {
  more = accounted["patched", file] - accounted["plain", file]
  if (more < 56 || more > 64)
    wrong(file ": each reader is charged " more " KiB more than before; 60 were expected")
}

function check_other(file) {
  if (reads["plain", file] != reads["patched", file] || largest["patched", file] > 4096)
    wrong(file " should be read as before: " reads["plain", file] " times, now " \
      reads["patched", file] " times, at most " largest["patched", file] " bytes")
}

function show(flavour, file,    key) {
  key = flavour SUBSEP file SUBSEP 65536
  printf "%-6s  %-7s  %-14s  %6d  %6d  %10d  %7d", kernel, flavour, file, lines[key], \
    reads[key], median[key], largest[key]
  if (count == "yes") printf "  %24.1f", microseconds[key] / 1000
  print ""
}

END {
  if (table_count != 4) wrong("4 tables were to be read, not " table_count + 0)
  if (other_count < 6) wrong("6 other files were to be read, not " other_count + 0)
  printf "%-6s  %-7s  %-14s  %6s  %6s  %10s  %7s%s\n", "kernel", "", "file", "lines", "reads", \
    "bytes/read", "at most", count == "yes" ? "  millions of instructions" : ""
  for (i = 1; i <= table_count; i++) {
    show("plain", tables[i])
    show("patched", tables[i])
    check_table(tables[i])
  }
  for (i = 1; i <= other_count; i++) check_other(others[i])
  if (!failed) print kernel ": as it should be; the same tables, and " other_count \
    " other files are read as before"
  exit failed
}
