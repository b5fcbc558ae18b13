# The log in systemd's journal: fields, message ids and the catalog. Sourced by service-checks; uses its functions.

checks+=(
    log_entries_have_fields
    log_entries_are_explained
    log_does_not_wait_for_journald
)

failing_destination() { # starts the service with a destination that nobody answers, and sends an event
    configure <<'YAML'
routes: [ { to: [mixpanel] } ]
destinations: { mixpanel: { http: "http://127.0.0.1:9/in", batch: { wait: 0s }, retry: { initial: 100ms, max: 200ms } } }
YAML
    systemctl restart penstock.service || fail "it does not start: $(log)"
    send failing 1
    eventually 15 has_failed || fail "journalctl has no entry: $(log)"
}
has_failed() { [ -n "$(json_log _SYSTEMD_UNIT=penstock.service PENSTOCK_DESTINATION=mixpanel)" ]; }
json_log() { # MATCH...: prints the log entries of this check as JSON
    journalctl --sync
    journalctl --since "@$begun" -o json "$@"
}

log_entries_have_fields() {
    failing_destination
    json_log PENSTOCK_DESTINATION=mixpanel | python3 -c '
import json, sys
entry = json.loads(sys.stdin.readline())
expected = {"PENSTOCK_EVENT": "delivery_retrying", "PENSTOCK_DESTINATION": "mixpanel", "PRIORITY": "4",
            "SYSLOG_IDENTIFIER": "penstockd", "_TRANSPORT": "journal", "_SYSTEMD_UNIT": "penstock.service"}
wrong = {name: entry.get(name) for name, value in expected.items() if entry.get(name) != value}
assert not wrong, wrong
assert len(entry["MESSAGE_ID"]) == 32, entry
assert entry["PENSTOCK_REASON"] and entry["PENSTOCK_REASON"] in entry["MESSAGE"], entry
' 2>"$scratch/wrong" || fail "$(cat "$scratch/wrong") in $(json_log PENSTOCK_DESTINATION=mixpanel | head -1)"
    # The start, the last line of the stop and an invalid configuration are there, too.
    systemctl stop penstock.service
    eventually 10 eval '[ -n "$(json_log -u penstock.service PENSTOCK_EVENT=stopped)" ]' || fail "no entry of the stop: $(log)"
    echo 'no_such_key: 1' >>"$configuration"
    ! systemctl start penstock.service 2>/dev/null || fail "it starts with an invalid configuration"
    eventually 10 eval '[ -n "$(json_log -u penstock.service PENSTOCK_EVENT=configuration_problem PENSTOCK_FILE=$configuration)" ]' ||
        fail "no entry of the invalid configuration: $(log)"
}

log_entries_are_explained() {
    failing_destination
    local text
    text=$(journalctl --since "@$begun" -x --no-pager PENSTOCK_EVENT=delivery_retrying)
    local words
    for words in "Subject: Destination mixpanel failed and is retried" "Defined-By: Penstock" "wait in the journal" \
        "penstock resume mixpanel" "Documentation: file:/usr/share/doc/penstock/Destinations.md"; do
        grep -qF -- "$words" <<<"$text" || fail "the explanation lacks \"$words\": $text"
    done
    [ "$(journalctl --list-catalog | grep -c ' Penstock: ')" = "$(grep -c '^-- ' systemd/catalog/penstock.catalog)" ] ||
        fail "the catalog has $(journalctl --list-catalog | grep -c ' Penstock: ') entries"
}

# While journald is stopped, the daemon takes and delivers events, and its log arrives later.
log_does_not_wait_for_journald() {
    failing_destination
    systemctl kill -s STOP --kill-who=main systemd-journald.service
    local status=0
    events later 100 | timeout 20 penstock send --acks 2>"$scratch/answer" || status=1
    # Many lines: each reload logs a line, and the destination fails again.
    local round
    for round in 1 2 3 4 5; do timeout 20 penstock reload >"$scratch/answer" 2>&1 || status=1; done
    timeout 10 penstock status --json >/dev/null
    [ $? -le 1 ] || status=1
    systemctl kill -s CONT --kill-who=main systemd-journald.service
    [ $status = 0 ] || fail "the daemon waits for journald: $(cat "$scratch/answer")"
    eventually 20 eval '[ "$(json_log PENSTOCK_EVENT=reloaded | wc -l)" -ge 5 ]' || fail "the log did not arrive: $(log)"
}
