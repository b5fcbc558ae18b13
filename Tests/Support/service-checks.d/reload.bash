# A valid or invalid configuration while the service runs. Sourced by service-checks; uses its functions.

checks+=(
    reload_returns_when_it_serves
    bad_reload_changes_nothing
    reload_turns_no_client_away
)

reload_returns_when_it_serves() {
    local pid
    pid=$(property MainPID)
    configure <<YAML
routes: [ { to: [archive, second] } ]
destinations:
  archive: { file: $archive }
  second: { file: $state/second.ndjson }
YAML
    systemctl reload penstock.service || fail "systemctl reload failed"
    penstock status --json | grep -q '"second"' || fail "the new destination is not there"
    send reload 1
    exactly_once reload 1 "$state/second.ndjson"
    exactly_once reload 1
    [ "$(property MainPID)" = "$pid" ] || fail "the daemon is another one"
    [ "$(property ActiveState)" = active ] || fail "it is $(property ActiveState)"
}

bad_reload_changes_nothing() {
    local pid
    pid=$(property MainPID)
    configure <<YAML
routes: [ { to: [archive, second] } ]
destinations:
  archive: { file: $archive }
  second: { fil: $state/second.ndjson }
YAML
    systemctl reload penstock.service 2>/dev/null && fail "systemctl reload succeeded"
    local line
    line=$(grep -n "fil:" "$configuration" | cut -d: -f1)
    eventually 5 logged "$configuration:$line:[0-9]+: error: " || fail "the log does not name $configuration:$line: $(log)"
    [ "$(property ActiveState)/$(property MainPID)" = "active/$pid" ] || fail "it is $(property ActiveState), process $(property MainPID)"
    says "1 destination up" || fail "STATUS is: $(property StatusText)"
    send bad 1
    exactly_once bad 1
    cp "$scratch/shipped.yaml" "$configuration"
    systemctl reload penstock.service || fail "a good configuration after a bad one is refused"
}

reload_turns_no_client_away() {
    # One client stays connected through five reloads, each of which changes the source and a destination. Three other
    # clients connect and disconnect.
    rm -f "$scratch/part" "$scratch"/go.*
    clients_begin
    (
        for part in 1 2 3 4 5 6; do
            events "part$part" 100
            echo "$part" >"$scratch/part"
            eventually 30 test -e "$scratch/go.$part"
        done
    ) | penstock send --acks &
    local client=$! part
    for part in 1 2 3 4 5; do
        eventually 30 grep -qs "$part" "$scratch/part" || fail "the client does not come to part $part"
        sed "s/size: 256MiB/size: 25${part}MiB/; s/group: penstock-clients/&\n    max_event_size: 3${part}KiB/" \
            "$scratch/shipped.yaml" >"$configuration"
        systemctl reload penstock.service || fail "reload $part failed"
        touch "$scratch/go.$part"
    done
    touch "$scratch/go.6"
    wait $client || fail "the client's connection broke"
    for part in 1 2 3 4 5 6; do exactly_once "part$part" 100; done
    clients_end
    [ ! -s "$scratch/lost" ] || fail "clients failed: $(sort "$scratch/lost" | uniq -c | head -n 20)"
    [ "$(property NRestarts)" = 0 ] || fail "the daemon was restarted"
}
