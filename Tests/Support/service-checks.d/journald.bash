# The journald plugin under the sandbox, with the guest's journald. Sourced by service-checks; uses its functions.

checks+=(
    journald_entries_are_found_by_field
    journald_gets_every_event
    journald_is_waited_for
    journald_brings_entries_in
)

audit() { # [SETTINGS]: delivers to the plugin, and starts the service; journald limits its rate by default
    local file=/usr/lib/penstock/plugins/libjournald.so
    if [ ! -e "$file" ]; then
        install -m 644 "$binaries/libjournald.so" "$file"
        # shellcheck disable=SC2016
        patchelf --set-rpath '$ORIGIN/..' "$file"
    fi
    override <<'INI'
[Service]
LogRateLimitIntervalSec=0
INI
    configure <<YAML
routes: [ { to: [audit] } ]
destinations: { audit: { plugin: journald, settings: { ${1-} }, retry: { initial: 100ms, max: 200ms } } }
YAML
    sed -i 's#socket: /run/penstock/events.sock#&\n    max_event_size: 1MiB#' "$configuration"
    systemctl restart penstock.service || fail "it does not start: $(log)"
}

entries() { # MATCH...: prints the entries of this check as JSON
    journalctl --sync
    journalctl --all --since "@$begun" -o json "$@"
}

field() { # NAME MATCH...: prints the field of each entry; a value that is not plain text as a list of bytes
    entries "${@:2}" | python3 -c 'import json, sys
for line in sys.stdin: print(json.loads(line).get(sys.argv[1], "-"))' "$1"
}

journald_entries_are_found_by_field() {
    audit 'identifier: shop, priority: warning, fields: { ORDER_ID: properties.order.id, ITEMS: $.properties.items, NONE: x }'
    penstock send --acks --timeout 1m <<'JSON' || fail "penstock send failed"
{"type":"track","event":"Order Completed","userId":"ada","messageId":"m-\u0031","properties":{"order":{"id":7},"items":["a"],"big":12345678901234567890}}
{"type":"identify","userId":"ada","messageId":"m-2","traits":{"plan":"pro"}}
{"type":"track","event":"two\nlines","anonymousId":"x\u0000y","messageId":"m-3"}
{"type":"page","name":"Home","userId":"bob","messageId":"m-4","context":{"ip":"10.0.0.1"}}
JSON
    eventually 15 has_ids "m-1 m-2 m-3 m-4" || fail "the journal has $(field PENSTOCK_MESSAGE_ID PENSTOCK_DESTINATION=audit PENSTOCK_PART=0 | xargs): $(log)"
    local name
    for name in "MESSAGE=track Order Completed, user ada" PRIORITY=4 SYSLOG_IDENTIFIER=shop KIND=track USER_ID=ada \
        ORDER_ID=7 'ITEMS=["a"]' NONE=- PENSTOCK_MESSAGE_ID=m-1 PENSTOCK_POSITION=0 PENSTOCK_PART=0 TRAITS=- PAYLOAD=- \
        _SYSTEMD_UNIT=penstock.service \
        'PROPERTIES={"order":{"id":7},"items":["a"],"big":12345678901234567890}'; do
        [ "$(field "${name%%=*}" EVENT='Order Completed')" = "${name#*=}" ] ||
            fail "${name%%=*} is $(field "${name%%=*}" EVENT='Order Completed'), not ${name#*=}"
    done
    [ "$(field TRAITS USER_ID=ada KIND=identify)" = '{"plan":"pro"}' ] || fail "TRAITS: $(entries KIND=identify)"
    [ "$(field MESSAGE KIND=page)" = 'page Home, user bob' ] || fail "page: $(entries KIND=page)"
    [ "$(field EVENT PENSTOCK_MESSAGE_ID=m-3)" = $'two\nlines' ] || fail "two lines: $(entries PENSTOCK_MESSAGE_ID=m-3)"
    [ "$(field ANONYMOUS_ID PENSTOCK_MESSAGE_ID=m-3)" = "[120, 0, 121]" ] || fail "NUL: $(field ANONYMOUS_ID PENSTOCK_MESSAGE_ID=m-3)"
    [ "$(journalctl -p warning --since "@$begun" -t shop -o cat | wc -l)" = 5 ] || fail "by priority: $(journalctl -p warning --since "@$begun" -t shop -o cat)"
}
has_ids() { [ "$(field PENSTOCK_MESSAGE_ID PENSTOCK_DESTINATION=audit PENSTOCK_PART=0 | sort -u | xargs)" = "$1" ]; }

entries_there() { # PREFIX: the numbers of distinct entries and of all
    field PENSTOCK_MESSAGE_ID PENSTOCK_DESTINATION=audit | grep "^$1-" | sort | uniq -c | awk '{ all += $1 } END { print NR + 0 "/" all + 0 }'
}
all_there() { [ "$(entries_there "$1")" = "$2/$2" ]; } # PREFIX COUNT

# A burst of this size is more than journald's default limit, and journald restarts meanwhile.
journald_gets_every_event() {
    audit 'payload: true'
    # Larger than a datagram may be.
    python3 -c 'print("{\"type\":\"track\",\"event\":\"" + "x" * 500000 + "\",\"userId\":\"u\",\"messageId\":\"burst-large\"}")' >"$scratch/large"
    events burst 30000 | cat - "$scratch/large" | penstock send --acks --timeout 2m 2>"$scratch/answer" &
    local sender=$!
    sleep 0.2
    systemctl restart systemd-journald || fail "journald does not restart"
    wait $sender || fail "penstock send failed: $(cat "$scratch/answer")"
    eventually 60 all_there burst 30001 || fail "distinct/all: $(entries_there burst)"
    [ "$(field EVENT PENSTOCK_MESSAGE_ID=burst-large | wc -c)" = 500001 ] || fail "the large event is not whole"
    field PAYLOAD PENSTOCK_MESSAGE_ID=burst-1 | grep -q '"messageId":"burst-1"' || fail "PAYLOAD: $(field PAYLOAD PENSTOCK_MESSAGE_ID=burst-1)"
}

journald_is_waited_for() {
    audit
    mv /run/systemd/journal/socket /run/systemd/journal/aside
    send waiting 10
    local status=0
    eventually 15 bash -c "penstock status | grep -q 'audit .*journald does not run'" || status=1
    mv /run/systemd/journal/aside /run/systemd/journal/socket
    [ $status = 0 ] || fail "status says: $(penstock status)"
    eventually 15 all_there waiting 10 || fail "distinct/all: $(entries_there waiting)"
}

# The journald source: entries of the guest's journal become events, once each, across kills of the daemon.
journald_brings_entries_in() {
    audit
    override <<'INI'
[Service]
SupplementaryGroups=systemd-journal
INI
    configure <<YAML
routes: [ { to: [archive] } ]
destinations: { archive: { file: $archive } }
YAML
    sed -i 's/^sources:/&\n  logs: { plugin: journald, settings: { match: [SYSLOG_IDENTIFIER=brought], event: "Log {properties.identifier}" } }/' "$configuration"
    systemctl restart penstock.service || fail "it does not start: $(log)"
    eventually 15 source_is up || fail "the source does not work: $(penstock status)"
    local number=0 round
    for round in 1 2 3; do
        for _ in $(seq 40); do
            number=$((number + 1))
            echo "line $number" | systemd-cat -t brought
        done
        [ "$round" = 1 ] || systemctl kill -s KILL penstock.service
    done
    eventually 30 all_brought "$number" || fail "brought: $(brought | xargs)"
    has_text '"event":"Log brought"' "$archive" || fail "the event's name: $(text "$archive" | head -1)"
    # The daemon's own entries would come back for ever.
    ! has_text 'penstock 0' "$archive" || fail "its own log came in: $(text "$archive" | grep 'penstock 0' | head -1)"
}
source_is() { [ "$(penstock status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["sources"]["logs"]["state"])')" = "$1" ]; }
brought() { text "$archive" | grep -o '"message":"line [0-9]*"' | grep -o '[0-9]*'; }
all_brought() { [ "$(brought)" = "$(seq "$1")" ]; }
