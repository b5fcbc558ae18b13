# Crashes and failing starts. Sourced by service-checks; uses its functions.

checks+=(
    watchdog_restarts_it
    short_watchdog_lets_it_live
    segv_loses_nothing
    killed_again_and_again_in_mid_stream
    invalid_configuration_is_not_tried_again
    failing_start_heals_with_its_clients_waiting
)

watchdog_restarts_it() {
    override <<'INI'
[Service]
WatchdogSec=2s
INI
    systemctl restart penstock.service || fail "it does not start"
    local pid
    pid=$(property MainPID)
    send watchdog 500
    kill -STOP "$pid"
    eventually 30 restarted "$pid" || fail "30 s after SIGSTOP it is $(property ActiveState)/$(property SubState), process $(property MainPID), restarts $(property NRestarts)"
    logged 'Watchdog timeout' || fail "it was restarted, but not by the watchdog: $(log)"
    exactly_once watchdog 500
    send after 1
    exactly_once after 1
}
restarted() { # PID
    [ "$(property NRestarts)" -ge 1 ] && other "$1"
}
# Reads the process before the state: between two runs there is no process (0), but the state may still be that of the
# earlier run.
other() { # PID
    local pid
    pid=$(property MainPID)
    [ "$pid" != 0 ] && [ "$pid" != "$1" ] && [ "$(property ActiveState)" = active ]
}

short_watchdog_lets_it_live() {
    # Half of this interval is shorter than the daemon's own tick and than the time between two heartbeats of its
    # threads. The reloads disturb its rhythm.
    override <<'INI'
[Service]
WatchdogSec=1500ms
INI
    systemctl restart penstock.service || fail "it does not start"
    local pid end=$((SECONDS + 8))
    pid=$(property MainPID)
    while [ "$SECONDS" -lt "$end" ]; do
        systemctl reload penstock.service || fail "reload failed: $(log)"
        sleep 0.3
    done
    [ "$(property MainPID)/$(property NRestarts)" = "$pid/0" ] || fail "the watchdog ended a daemon that was well"
}

segv_loses_nothing() {
    local pid crash
    send before 2000
    clients_begin
    for crash in 1 2 3; do
        eventually 30 acknowledged_at_least $((crash * 10)) || fail "after crash $((crash - 1)) nothing comes through"
        pid=$(property MainPID)
        kill -SEGV "$pid"
        eventually 30 restarted "$pid" || fail "it is $(property ActiveState)/$(property SubState)"
    done
    [ "$(property NRestarts)" = 3 ] || fail "it was restarted $(property NRestarts) times for 3 crashes"
    clients_end
    exactly_once before 2000
}

killed_again_and_again_in_mid_stream() {
    local life pid
    for life in 1 2 3; do
        pid=$(property MainPID)
        (events "life$life" 20000 | penstock send --acks 2>/dev/null) &
        eventually 20 some "life$life" || fail "nothing arrives in life $life"
        kill -KILL "$pid"
        wait
        eventually 30 other "$pid" || fail "after kill $life it is $(property ActiveState)/$(property SubState)"
    done
    send last 1
    exactly_once last 1
    # The events in the file are there once and without a gap, because a client's events are accepted in order.
    for life in 1 2 3; do
        [ -z "$(ids "life$life" | uniq -d)" ] || fail "life $life: $(ids "life$life" | uniq -d | wc -l) events are there twice"
        [ "$(ids "life$life" | wc -l)" = "$(ids "life$life" | tail -n 1)" ] || fail "life $life: there is a gap"
    done
    [ -z "$(text "$archive" | grep -v '^{.*}$' | head -c 200)" ] || fail "the file holds a torn line"
}
some() { [ -n "$(ids "$1" | head -n 1)" ]; }

invalid_configuration_is_not_tried_again() {
    configure <<<'routes: [ { to: [nowhere] } ]'
    systemctl restart penstock.service 2>/dev/null && fail "it starts with a route to nowhere"
    [ "$(property ExecMainStatus)" = 78 ] || fail "exit status $(property ExecMainStatus)"
    # Not "activating/auto-restart".
    [ "$(property ActiveState)/$(property SubState)" = failed/failed ] || fail "it is $(property ActiveState)/$(property SubState)"
    [ "$(property NRestarts)" = 0 ] || fail "it was restarted $(property NRestarts) times"
    eventually 5 logged "$configuration:[0-9]+:[0-9]+: error: " || fail "the log does not say where: $(log)"
    cp "$scratch/shipped.yaml" "$configuration"
    systemctl start penstock.service || fail "it does not start with a good configuration"
}

failing_start_heals_with_its_clients_waiting() {
    systemctl stop penstock.service 2>/dev/null
    # A file cannot hold the journal, so every start fails with exit status 1.
    rm -rf "$state/journal"
    touch "$state/journal"
    runuser -u member -- penstock track Checked --user u1 --timeout 2m -p waited=true &
    local client=$!
    eventually 60 tried 5 || fail "it is tried $(property NRestarts) times, $(property ActiveState)/$(property SubState)"
    logged 'code=exited, status=1/FAILURE' || fail "it fails otherwise: $(log)"
    [ "$(property ActiveState penstock.socket)" = active ] || fail "the socket is $(property ActiveState penstock.socket)"
    rm "$state/journal"
    wait $client || fail "the client was turned away"
    eventually 15 has_text '"waited":true' "$archive" || fail "the event is not in the archive"
}
tried() { [ "$(property NRestarts)" -ge "$1" ]; }
