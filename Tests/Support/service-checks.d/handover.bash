# Connected clients do not notice a restart or a kill. Sourced by service-checks; uses its functions.
#
# HANDOVERS is how many restarts, and how many kills, there are.

checks+=(
    clients_do_not_notice_restarts
    clients_do_not_notice_kills
    stop_is_quick_while_clients_send
    a_crowd_of_clients_is_kept_as_far_as_it_fits
)
handovers=${HANDOVERS-5}

never_too_often() {
    # A long run waits as long as the service does.
    override <<INI
[Unit]
StartLimitIntervalSec=0
[Service]
$([ "$handovers" -ge 100 ] || echo RestartSec=100ms)
INI
}

steady_begin() { # RATE
    configure <<YAML
routes: [ { to: [archive] } ]
destinations: { archive: { file: $state/archive/events.ndjson } }
YAML
    systemctl restart penstock.service || fail "it does not start"
    rm -f "$scratch/enough"
    Tests/Support/steady-clients /run/penstock/events.sock "$state/archive/events.ndjson" "$1" "$scratch/enough" \
        >"$scratch/steady" 2>&1 &
    steady=$!
    trap 'touch "$scratch/enough"; kill $steady 2>/dev/null' EXIT
    eventually 30 grows || fail "nothing arrives"
}
grows() { [ "$(stat -c %s "$state/archive/events.ndjson" 2>/dev/null || echo 0)" -gt 1000000 ]; }
steady_end() {
    touch "$scratch/enough"
    wait $steady || fail "$(cat "$scratch/steady")"
    echo "service-checks: $(cat "$scratch/steady")" >&2
}

clients_do_not_notice_restarts() {
    local number longest=0 begin time
    never_too_often
    steady_begin 20000
    for ((number = 0; number < handovers; number++)); do
        begin=$EPOCHREALTIME
        systemctl restart penstock.service || fail "restart $number failed"
        time=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
        [ $time -le $longest ] || longest=$time
        sleep "0.$((RANDOM % 5 + 1))"
    done
    steady_end
    echo "service-checks: $handovers restarts, the longest took $longest ms" >&2
    # The long run measures, on a machine that does nothing else.
    [ "$handovers" -lt 100 ] || [ $longest -lt 1000 ] || fail "a restart took $longest ms"
    grep -q ' 0 requests cut off' "$scratch/steady" || fail "$(cat "$scratch/steady")"
}

clients_do_not_notice_kills() {
    local number pid
    never_too_often
    steady_begin 20000
    # The service's system call filter allows it, so no kill falls between a client's acceptance and its keeping.
    ls -l "/proc/$(property MainPID)/fd" | grep -q 'io_uring' || fail "clients are accepted without a ring"
    for ((number = 0; number < handovers; number++)); do
        pid=$(property MainPID)
        kill -KILL "$pid"
        eventually 60 other "$pid" || fail "after kill $number it is $(property ActiveState)/$(property SubState)"
        eventually 60 keeps_up || fail "after kill $number the clients that waited are not served"
        sleep "0.$((RANDOM % 5 + 1))"
    done
    steady_end
}
# On a slow machine, brief clients that wait over several kills would be more than a user's 1,000.
keeps_up() {
    penstock status --json 2>/dev/null |
        python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["sources"]["apps"]["connections"] > 400)' 2>/dev/null
}

stop_is_quick_while_clients_send() {
    local begin time
    steady_begin 20000
    begin=$EPOCHREALTIME
    systemctl stop penstock.service 2>/dev/null
    time=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
    [ "$(property Result)" = success ] || fail "Result=$(property Result)"
    echo "service-checks: the stop took $time ms" >&2
    # On an idle machine, less than one second.
    [ $time -le 3000 ] || fail "it took $time ms"
}

a_crowd_of_clients_is_kept_as_far_as_it_fits() {
    # A user of the lowest rights: many connections, some with half a line, some that pass descriptors, some that end at
    # once or in one direction. Another one's events must arrive, and a restart and a kill must work.
    runuser -u member -- python3 - "$scratch/enough" 2>/dev/null <<'PYTHON' &
import array, os, resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
clients, number = [], 0
while not os.path.exists(sys.argv[1]):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(1)
    try:
        client.connect("/run/penstock/events.sock")
        kind = number % 5
        if kind == 0: client.sendall(b'{"type":"track","event":"Half')
        if kind == 1: client.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [client.fileno()] * 10))])
        if kind == 2: client.shutdown(socket.SHUT_WR)
        if kind == 3: client.close()
        clients.append(client)
    except OSError:
        time.sleep(0.01)
    if len(clients) > 900: clients = clients[450:]
    number += 1
PYTHON
    crowd=$!
    local pid
    rm -f "$scratch/enough"
    trap 'touch "$scratch/enough"; kill $crowd 2>/dev/null' EXIT
    send crowd 100
    systemctl restart penstock.service || fail "it does not restart"
    send again 100
    pid=$(property MainPID)
    kill -KILL "$pid"
    eventually 60 other "$pid" || fail "after the kill it is $(property ActiveState)/$(property SubState)"
    send after 100
    exactly_once crowd 100
    exactly_once again 100
    exactly_once after 100
    [ "$(property NFileDescriptorStore)" = 3 ] || fail "systemd holds $(property NFileDescriptorStore) descriptors"
}
