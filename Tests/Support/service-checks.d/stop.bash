# systemctl stop. Sourced by service-checks; uses its functions.

checks+=(
    stop_is_clean_and_loses_nothing
    stop_waits_for_a_hanging_service_within_its_bound
    idle_stop_is_quick
)

stop_is_clean_and_loses_nothing() {
    configure <<YAML
routes: [ { to: [archive, collector] } ]
destinations:
  archive: { file: $archive }
  collector: { http: "http://127.0.0.1:8399/", format: ndjson, retry: { initial: 100ms, max: 1s } }
YAML
    systemctl restart penstock.service || fail "it does not start"
    send stop 2000
    local begin=$SECONDS
    systemctl stop penstock.socket penstock.service
    local took=$((SECONDS - begin))
    [ "$(property Result)" = success ] || fail "Result=$(property Result)"
    [ "$(property ExecMainStatus)" = 0 ] || fail "exit status $(property ExecMainStatus)"
    [ $took -le 25 ] || fail "it took $took s"
    [ "$(ids stop | uniq | wc -l)" = 2000 ] || fail "the file has $(ids stop | uniq | wc -l) of 2000 when it has stopped"
    # The events that the dead service did not get wait in the journal.
    receive
    systemctl start penstock.service || fail "it does not start again"
    eventually 30 has_all stop 2000 "$scratch/received" || fail "the service came back and got $(ids stop "$scratch/received" | uniq | wc -l) of 2000"
    exactly_once stop 2000
}

stop_waits_for_a_hanging_service_within_its_bound() {
    # The short watchdog shows that it does not interrupt the drain.
    override <<'INI'
[Service]
WatchdogSec=3s
INI
    python3 -c 'if True:
        import socket, time
        listener = socket.create_server(("127.0.0.1", 8398))
        connections = []
        while True: connections.append(listener.accept())' &
    trap "kill $!" EXIT
    eventually 10 bash -c ': </dev/tcp/127.0.0.1/8398' 2>/dev/null || fail "the test's own server does not listen"
    configure <<YAML
routes: [ { to: [archive, collector] } ]
destinations:
  archive: { file: $archive }
  collector: { http: "http://127.0.0.1:8398/", format: ndjson }
YAML
    systemctl restart penstock.service || fail "it does not start"
    send hanging 100
    exactly_once hanging 100
    local begin=$SECONDS
    systemctl stop penstock.socket penstock.service
    [ "$(property Result)" = success ] || fail "Result=$(property Result)"
    [ "$(property ExecMainStatus)" = 0 ] || fail "exit status $(property ExecMainStatus)"
    [ $((SECONDS - begin)) -le 25 ] || fail "it took $((SECONDS - begin)) s"
    echo "service-checks: it waited $((SECONDS - begin)) s for the service that hangs" >&2
}

idle_stop_is_quick() {
    send idle 10
    # A connected and silent client must not delay the stop.
    mkfifo "$scratch/silence"
    penstock send --acks "$scratch/silence" 2>/dev/null &
    local client=$! begin milliseconds silence
    exec {silence}>"$scratch/silence"
    eventually 10 connected || fail "the client does not connect"
    begin=$(date +%s%N)
    systemctl stop penstock.socket penstock.service
    milliseconds=$((($(date +%s%N) - begin) / 1000000))
    exec {silence}>&-
    wait $client
    [ "$(property Result)" = success ] || fail "Result=$(property Result)"
    [ $milliseconds -le 5000 ] || fail "it took $milliseconds ms"
    [ ! -e /run/penstock/events.sock ] && [ ! -e /run/penstock/control.sock ] || fail "sockets were left: $(ls /run/penstock)"
}
connected() { penstock status --json | grep -Eq '"connections" ?: ?1\b'; }
