# Clients that may send may not read, and no core dump contains secrets. Sourced by service-checks; uses its functions.

checks+=(
    clients_read_nothing
    files_belong_to_the_daemon
    secrets_are_in_no_core_dump
)

clients_read_nothing() {
    local file
    send readable 10
    exactly_once readable 10
    runuser -u member -- penstock track "Order Completed" --user u1 || fail "a member of penstock-clients cannot send"
    for file in "$configuration" "$archive" "$state"/journal/*; do
        [ -e "$file" ] || fail "there is no $file: the check proves nothing"
        ! runuser -u member -- test -r "$file" || fail "a member of penstock-clients can read $file"
        runuser -u penstock -- test -r "$file" || fail "the daemon's user cannot read $file"
    done
    for file in /etc/penstock /etc/penstock/conf.d /etc/penstock/secrets "$state" "$state/journal" "$state/archive"; do
        ! runuser -u member -- ls "$file" >/dev/null 2>&1 || fail "a member of penstock-clients can list $file"
    done
    ! runuser -u member -- penstock status >/dev/null 2>&1 || fail "a member of penstock-clients can ask for the status"
    ! runuser -u member -- penstock tap --limit 1 >/dev/null 2>&1 || fail "a member of penstock-clients can tap events"
}

files_belong_to_the_daemon() {
    send owned 10
    exactly_once owned 10
    local file access
    while read -r access file; do
        case $access in
        penstock:penstock:?[0-7]0 | penstock:penstock:?[0-7][0-7]0) ;;
        *) fail "$file is $access" ;;
        esac
    done < <(find "$state" -printf '%u:%g:%04m %p\n')
    [ "$(stat -c %U:%G:%a /run/penstock/events.sock)" = penstock:penstock-clients:660 ] || fail "events.sock is $(stat -c %U:%G:%a /run/penstock/events.sock)"
    [ "$(stat -c %U:%G:%a /run/penstock/control.sock)" = penstock:penstock:600 ] || fail "control.sock is $(stat -c %U:%G:%a /run/penstock/control.sock)"
    [ "$(stat -c %U:%G:%a /etc/penstock)" = root:penstock:750 ] || fail "/etc/penstock is $(stat -c %U:%G:%a /etc/penstock)"
    [ "$(cat "$scratch/installed.access")" = root:penstock:640 ] || fail "the installed configuration was $(cat "$scratch/installed.access")"
}

# Prints what a core dump of process $1 would contain: its memory, except what is marked (dd in VmFlags) or filtered.
cat >"$scratch/core.py" <<'PYTHON'
import re, sys
process, with_filter = sys.argv[1], sys.argv[2] == "filtered"
kept = int(open(f"/proc/{process}/coredump_filter").read(), 16) if with_filter else 0x33
memory = open(f"/proc/{process}/mem", "rb", 0)
for mapping in re.split(r"\n(?=[0-9a-f]+-[0-9a-f]+ )", open(f"/proc/{process}/smaps").read()):
    start, end, mode, name = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)", mapping).groups()
    flags = re.search(r"VmFlags: (.*)", mapping).group(1).split()
    if "r" not in mode or "dd" in flags or "io" in flags or name.startswith("[v"):
        continue
    if not kept & (2 if "s" in mode else 1):
        continue
    memory.seek(int(start, 16))
    try:
        sys.stdout.buffer.write(memory.read(int(end, 16) - int(start, 16)))
    except OSError:
        pass
PYTHON

secrets_are_in_no_core_dump() {
    local secret=s3cret-77aa03fe9921 pid
    receive
    install -m 600 /dev/stdin /etc/penstock/secrets/collector <<<"$secret"
    override <<'INI'
[Service]
LoadCredential=collector:/etc/penstock/secrets/collector
LimitCORE=infinity
INI
    configure <<'YAML'
routes: [ { to: [collector] } ]
destinations:
  collector: { http: "http://127.0.0.1:8399/v1/events", format: ndjson, headers: { Authorization: !secret collector }, retry: { initial: 100ms } }
YAML
    systemctl restart penstock.service || fail "it does not start: $(log)"
    send core 10
    eventually 30 has_all core 10 "$scratch/received" || fail "the receiver has not all events"
    pid=$(property MainPID)
    # Proves that the search works: libcurl's and the request's own copies are in ordinary memory.
    python3 "$scratch/core.py" "$pid" unfiltered | grep -aq "$secret" || fail "it is nowhere in memory: the check proves nothing"
    ! python3 "$scratch/core.py" "$pid" filtered | grep -aq "$secret" || fail "it would be in a core dump"
    # An operator who asks for a full dump gets it.
    override <<'INI'
[Service]
LoadCredential=collector:/etc/penstock/secrets/collector
CoredumpFilter=all
INI
    systemctl restart penstock.service || fail "it does not start: $(log)"
    [ "$(cat "/proc/$(property MainPID)/coredump_filter")" != 00000010 ] || fail "CoredumpFilter= of a drop-in has no effect"
}
