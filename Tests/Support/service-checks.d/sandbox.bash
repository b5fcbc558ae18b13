# Log, secrets, and a plugin under the sandbox. Sourced by service-checks; uses its functions.

checks+=(
    log_lines_have_priorities
    log_is_quiet
    secrets_reach_the_header_and_nothing_else
    sqlite_works_in_the_sandbox
    metrics_are_served_in_the_sandbox
)

log_lines_have_priorities() {
    configure <<<'routes: [ { to: [nowhere] } ]'
    systemctl reload penstock.service 2>/dev/null && fail "reload succeeded"
    eventually 5 logged 'was refused' || fail "the log says nothing of the refusal: $(log)"
    log -p err | grep -q ": error: " || fail "the error is not of priority err: $(log -o json --output-fields=PRIORITY,MESSAGE)"
    log -p notice..notice | grep -q " serves " || fail "the start is not of priority notice"
    log | grep -Eq '^<[0-9]>' && fail "priorities stand in the text"
    return 0
}

log_is_quiet() {
    # An uneventful run logs only the usual lines of the daemon and systemd.
    send quiet 100
    exactly_once quiet 100
    systemctl reload penstock.service || fail "reload failed"
    systemctl restart penstock.service || fail "restart failed"
    local more
    more=$(log SYSLOG_IDENTIFIER=penstockd + SYSLOG_IDENTIFIER=penstock | grep -Ev '^journal: .* (holds positions|is empty$)|^penstock .* serves |^the new configuration is in effect$|^stopped; ')
    [ -z "$more" ] || fail "$more"
    [ -z "$(log -p warning)" ] || fail "$(log -p warning)"
}

secrets_reach_the_header_and_nothing_else() {
    local secret=s3cret-4b1d7c09 pid place
    receive
    install -m 600 /dev/stdin /etc/penstock/secrets/collector <<<"$secret"
    override <<'INI'
[Service]
LoadCredential=collector:/etc/penstock/secrets/collector
INI
    configure <<'YAML'
routes: [ { to: [collector] } ]
destinations:
  collector:
    http: http://127.0.0.1:8399/v1/events
    format: ndjson
    headers: { Authorization: !secret collector, X-Also: "Bearer {{ secret.collector }}" }
    retry: { initial: 100ms, max: 1s }
YAML
    systemctl restart penstock.service || fail "it does not start: $(log)"
    send secret 10
    # The first request was answered with 500, so an error was logged and shown, too.
    eventually 30 has_all secret 10 "$scratch/received" || fail "the receiver has $(ids secret "$scratch/received" | uniq | wc -l) of 10 events"
    [ "$(sort -u "$scratch/authorization")" = "$secret" ] || fail "Authorization was: $(sort -u "$scratch/authorization")"
    pid=$(property MainPID)
    penstock status >"$scratch/status"
    penstock status --json >>"$scratch/status"
    systemctl status --no-pager --full penstock.service >>"$scratch/status"
    log -o export >"$scratch/log"
    log >>"$scratch/log"
    cat "/proc/$pid/cmdline" >"$scratch/cmdline"
    cat "/proc/$pid/environ" >"$scratch/environ"
    for place in "$scratch/status" "$scratch/log" "$scratch/cmdline" "$scratch/environ"; do
        [ -s "$place" ] || fail "$place is empty: the check proves nothing"
        ! grep -aq "$secret" "$place" || fail "it is in $place"
    done
    ! grep -raq "$secret" "$state" || fail "it is in $(grep -ral "$secret" "$state")"
}

sqlite_works_in_the_sandbox() {
    configure <<YAML
routes: [ { to: [warehouse] } ]
destinations: { warehouse: { plugin: sqlite, settings: { path: $state/warehouse.db, table: events } } }
YAML
    systemctl reload penstock.service || fail "reload failed: $(log)"
    send row 1000
    local pid
    pid=$(property MainPID)
    kill -KILL "$pid"
    eventually 30 other "$pid" || fail "it is $(property ActiveState)/$(property SubState)"
    eventually 30 rows 1000 || fail "there are $(rows_there) rows of 1000, distinct/all"
}
rows_there() { sqlite3 -readonly "$state/warehouse.db" "SELECT count(DISTINCT message_id) || '/' || count(*) FROM events" 2>/dev/null; }
rows() { [ "$(rows_there)" = "$1/$1" ]; }

metrics_are_served_in_the_sandbox() {
    local directory=/usr/share/penstock/monitoring text
    for file in penstock.rules.yml penstock.rules.test.yml penstock.dashboard.json; do
        setpriv --reuid=nobody --regid=nogroup --clear-groups cat "$directory/$file" >/dev/null \
            || fail "Prometheus cannot read $directory/$file"
    done
    configure <<YAML
routes: [ { to: [archive] } ]
destinations: { archive: { file: $archive } }
control: { metrics: 127.0.0.1:9377 }
YAML
    penstock check >/dev/null || fail "check: $(penstock check 2>&1)"
    systemctl reload penstock.service || fail "reload failed: $(log)"
    send measured 10
    exactly_once measured 10
    text=$(setpriv --reuid=nobody --regid=nogroup --clear-groups curl -sS --noproxy '*' http://127.0.0.1:9377/metrics) \
        || fail "no answer"
    grep -q '^penstock_source_accepted_events_total{source="apps"} [1-9]' <<<"$text" || fail "no accepted events: $text"
    for name in process_cpu_seconds_total process_resident_memory_bytes process_open_fds process_max_fds; do
        grep -q "^$name [0-9.]*[1-9]" <<<"$text" || fail "the sandbox hides $name"
    done
}
