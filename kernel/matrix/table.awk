# Reads what the machine of scripts/kernel-matrix said on its console and prints it as a table.
# Given: kernel, its name for the heading; may_skip, 1 where skipped cases are no failure.
# Ends with 0 only if the machine finished, all its cases arrived here and none failed.

function row(status, rest,    at) {
  if (!begun || ended) return
  at = index(rest, ":")
  name = at ? substr(rest, 1, at - 1) : rest
  if (name in seen) fault("the case " name " is there twice")
  seen[name] = 1
  count[status]++
  printf "  %-8s %-24s %s\n", status, name, at ? substr(rest, at + 2) : ""
}

function fault(why) {
  faults = faults "  FAULT: " why "\n"
}

BEGIN { print kernel }
{ sub(/\r$/, "") }
/^begin / { begun++; printf "  Linux %s\n", $2 }
/^ok / { row("ok", substr($0, 4)) }
/^not ok / { row("not ok", substr($0, 8)) }
/^skipped / { row("skipped", substr($0, 9)) }
/^end [0-9]+ cases: / { ended++; said = $0 }

END {
  passed = count["ok"] + 0
  failed = count["not ok"] + 0
  skipped = count["skipped"] + 0
  total = passed + failed + skipped
  read = "end " total " cases: " passed " ok, " failed " not ok, " skipped " skipped"
  if (begun != 1) fault("the test did not begin")
  if (ended != 1) fault("the machine did not finish")
  else if (said != read) fault("the machine said \"" said "\", but here arrived \"" read "\"")
  if (!passed) fault("no case passed")
  if (skipped && !may_skip) fault("skipped, although the program has what these cases test")
  printf "%s", faults
  printf "  %d cases: %d ok, %d not ok, %d SKIPPED\n", total, passed, failed, skipped
  exit failed || faults != ""
}
