# What the programs know about systemd: its socket, its sandbox, its status line. Sourced by service-checks; uses its
# functions.

checks+=(
    socket_settings_are_compared
    systemds_socket_is_named
    the_daemons_own_socket_works
    check_asks_the_sandbox
    read_only_names_the_sandbox
    missing_credential_says_restart
    status_shows_the_first_error
    errors_are_logged_once
    disabling_both_ends_both
    instances_run_side_by_side
    memory_is_bounded
    a_quota_counts
)

socket_settings_are_compared() {
    penstock check >"$scratch/answer" 2>&1 || fail "the shipped configuration is not valid: $(cat "$scratch/answer")"
    ! grep -q "has no effect" "$scratch/answer" || fail "the shipped configuration and units differ: $(cat "$scratch/answer")"
    penstock status >"$scratch/answer"
    grep -q "^apps: /run/penstock/events.sock, mode 0660, group penstock-clients, set in penstock.socket" "$scratch/answer" ||
        fail "status says nothing of the socket unit: $(cat "$scratch/answer")"
    sed -i 's#socket: /run/penstock/events.sock#socket: /run/penstock/other.sock#; s/mode: "0660"/mode: "0666"/; s/group: penstock-clients/group: penstock/' "$configuration"
    local line program
    line=$(grep -n "socket: /run/penstock/other.sock" "$configuration" | cut -d: -f1)
    for program in "penstock check" "penstock reload"; do
        $program >"$scratch/answer" 2>&1 || fail "$program failed: $(cat "$scratch/answer")"
        grep -q "$configuration:$line:[0-9]*: warning: socket /run/penstock/other.sock has no effect: .* socket /run/penstock/events.sock" "$scratch/answer" ||
            fail "$program does not compare the paths: $(cat "$scratch/answer")"
        grep -q "warning: mode 0666 has no effect: .* mode 0660" "$scratch/answer" || fail "$program does not compare the modes: $(cat "$scratch/answer")"
        grep -q "warning: group penstock has no effect: .* group penstock-clients" "$scratch/answer" ||
            fail "$program does not compare the groups: $(cat "$scratch/answer")"
        grep -q "systemctl edit penstock.socket" "$scratch/answer" || fail "$program does not say what to do: $(cat "$scratch/answer")"
    done
    penstock status | grep -q "whose socket /run/penstock/other.sock, mode 0666, group penstock has no effect" || fail "status says: $(penstock status)"
    systemctl restart penstock.service || fail "it does not start with another socket in the configuration: $(log)"
    send compared 1
    exactly_once compared 1
}

systemds_socket_is_named() {
    # Another source has the path that systemd holds.
    sed -i 's/^  apps:/  shop:/' "$configuration"
    penstock check >"$scratch/answer" 2>&1 && fail "check finds nothing wrong"
    grep -q 'systemd listens at /run/penstock/events.sock for a source named "apps", and this one is named "shop"' "$scratch/answer" ||
        fail "check says: $(cat "$scratch/answer")"
    systemctl restart penstock.service 2>/dev/null && fail "it starts"
    logged 'systemd listens at /run/penstock/events.sock for a source named "apps"' || fail "the log says: $(log)"
    cp "$scratch/shipped.yaml" "$configuration"
    systemctl reset-failed penstock.service penstock.socket
    systemctl restart penstock.socket && systemctl start penstock.service || fail "it does not start with the shipped configuration"
    # A daemon is started by hand while systemd holds the socket for the service.
    sed "s#/var/lib/penstock#$scratch/hand#; s#socket: /run/penstock/events.sock#&\n    max_event_size: 1KiB#" "$configuration" >"$scratch/hand.yaml"
    echo "control: { socket: $scratch/hand.sock }" >>"$scratch/hand.yaml"
    timeout 30 penstockd --config "$scratch/hand.yaml" 2>"$scratch/answer" && fail "it starts by hand"
    grep -q "systemd listens at /run/penstock/events.sock (penstock.socket)" "$scratch/answer" || fail "by hand it says: $(cat "$scratch/answer")"
}

the_daemons_own_socket_works() {
    systemctl stop penstock.socket penstock.service
    ln -sf /dev/null /run/systemd/system/penstock.socket
    systemctl daemon-reload
    sed -i 's/group: penstock-clients/group: penstock/' "$configuration"
    systemctl start penstock.service
    local started=$?
    [ $started != 0 ] || send own 1
    rm /run/systemd/system/penstock.socket
    systemctl stop penstock.service
    systemctl daemon-reload
    [ $started = 0 ] || fail "it does not start without the socket unit: $(log)"
}

elsewhere() { # a configuration that writes to /srv/archive
    configure <<YAML
routes: [ { to: [archive, elsewhere] } ]
destinations:
  archive: { file: $archive }
  elsewhere: { file: /srv/archive/%Y/events.ndjson }
YAML
}

check_asks_the_sandbox() {
    elsewhere
    local line
    line=$(grep -n /srv/archive "$configuration" | cut -d: -f1)
    # Root may write there, but the service may not.
    penstock check >"$scratch/answer" 2>&1 && fail "check finds nothing wrong"
    grep -q "$configuration:$line:[0-9]*: error: penstock.service may not write in /srv/archive: its sandbox has ProtectSystem=strict" "$scratch/answer" ||
        fail "check says: $(cat "$scratch/answer")"
    grep -q "ReadWritePaths=/srv/archive" "$scratch/answer" || fail "check does not say what to do: $(cat "$scratch/answer")"
    # The suggested setting helps.
    install -d -o penstock -g penstock -m 750 /srv/archive
    override <<'INI'
[Service]
ReadWritePaths=/srv/archive
INI
    penstock check >"$scratch/answer" 2>&1 || fail "with ReadWritePaths= check says: $(cat "$scratch/answer")"
    systemctl restart penstock.service || fail "it does not start: $(log)"
    send srv 1
    exactly_once srv 1 "/srv/archive/$(date -u +%Y)/events.ndjson"
    # A directory that only the service sees.
    sed -i 's#/srv/archive/%Y#/tmp/archive#' "$configuration"
    penstock check 2>&1 | grep -q "warning: penstock.service gets its own private /tmp/archive" || fail "of /tmp check says: $(penstock check 2>&1)"
    sed -i 's#/tmp/archive#/home/archive#' "$configuration"
    penstock check 2>&1 | grep -q "error: penstock.service cannot access /home/archive: its sandbox has ProtectHome=yes" || fail "of /home check says: $(penstock check 2>&1)"
    # Another configuration is not checked against the service.
    sed 's#file: .*archive/events#file: /srv/other/events#' "$scratch/shipped.yaml" >"$scratch/another.yaml"
    penstock check --config "$scratch/another.yaml" >"$scratch/answer" 2>&1 || fail "of another configuration check says: $(cat "$scratch/answer")"
}

read_only_names_the_sandbox() {
    rm -rf /srv/archive
    elsewhere
    systemctl reload penstock.service 2>/dev/null && fail "reload succeeds"
    logged '/srv.*ReadWritePaths=' || fail "the reload's log says: $(log)"
    # At the start, one destination that cannot write does not stop the others.
    systemctl restart penstock.service || fail "it does not start: $(log)"
    send readonly 1
    exactly_once readonly 1
    eventually 15 bash -c "penstock status | grep -q 'elsewhere .*ReadWritePaths='" || fail "status says: $(penstock status)"
    # The daemon cannot run without its journal.
    sed 's#/var/lib/penstock/journal#/srv/journal#' "$scratch/shipped.yaml" >"$configuration"
    systemctl restart penstock.service 2>/dev/null && fail "it starts with a journal where it cannot write"
    logged '/srv.*Read-only file system.*ReadWritePaths=' || fail "the log says: $(log)"
    property StatusText | grep -q 'ReadWritePaths=' || fail "STATUS is: $(property StatusText)"
    penstock check 2>&1 | grep -q "may not write in /srv/journal" || fail "check says: $(penstock check 2>&1)"
}

missing_credential_says_restart() {
    configure <<'YAML'
routes: [ { to: [collector] } ]
destinations: { collector: { http: "http://127.0.0.1:9/", format: ndjson, headers: { Authorization: !secret absent } } }
YAML
    systemctl reload penstock.service 2>/dev/null && fail "reload succeeds"
    logged 'LoadCredential=absent:.*restart it' || fail "the log says: $(log)"
}

status_shows_the_first_error() {
    local directory=/etc/penstock/conf.d file
    # A file name of almost the maximum length.
    file=$directory/$(printf 'x%.0s' {1..150}).yaml
    mkdir -p "$directory"
    echo 'destinations: { archive: { no_such_key: 1 } }' >"$file"
    systemctl restart penstock.service 2>/dev/null && fail "it starts"
    systemctl status --no-pager penstock.service >"$scratch/answer"
    rm -r "$directory"
    grep -q "Status: \"$file:1:[0-9]*: error: .*no_such_key" "$scratch/answer" || fail "systemctl status says: $(cat "$scratch/answer")"
}

errors_are_logged_once() {
    configure <<'YAML'
routes: [ { to: [nowhere] } ]
destinations: { archive: { fil: x } }
YAML
    systemctl reload penstock.service 2>/dev/null && fail "reload succeeds"
    local errors
    errors=$(log | grep -F ": error: ")
    [ "$(sort <<<"$errors" | uniq -d)" = "" ] && [ "$(wc -l <<<"$errors")" -ge 2 ] || fail "the reload's log has: $errors"
    systemctl restart penstock.service 2>/dev/null && fail "restart succeeds"
    # The start logs each error once more.
    [ "$(log | grep -cF ": error: ")" = $((2 * $(wc -l <<<"$errors"))) ] || fail "the start's log has: $(log | grep -F ": error: ")"
}

disabling_both_ends_both() {
    systemctl disable --now penstock.socket penstock.service 2>/dev/null || fail "systemctl disable failed"
    [ "$(property ActiveState)/$(property ActiveState penstock.socket)" = inactive/inactive ] || fail "they are $(property ActiveState)/$(property ActiveState penstock.socket)"
    penstock track Checked --user u1 2>/dev/null && fail "an event was taken by nobody"
    [ "$(property ActiveState)" = inactive ] || fail "a client started it"
    systemctl enable --now penstock.socket penstock.service 2>/dev/null || fail "systemctl enable failed"
    send enabled 1
}

memory_is_bounded() {
    [ "$(property MemoryHigh)" = 536870912 ] || fail "MemoryHigh=$(property MemoryHigh)"
}

a_quota_counts() { # as the processors that the daemon may use
    local end=$((SECONDS + 60))
    systemctl set-property --runtime penstock.service CPUQuota=50% || fail "there is no quota"
    until penstock status --json | grep -Eq '"processors" ?: ?0\.5\b'; do
        [ "$SECONDS" -lt "$end" ] || fail "status says: $(penstock status --json)"
        sleep 0.1
    done
    systemctl set-property --runtime penstock.service CPUQuota=
}

instances_run_side_by_side() {
    local complaints line
    # The template has all settings of the service.
    while read -r line; do
        grep -qxF -- "$line" /usr/lib/systemd/system/penstock@.service || fail "the template lacks: $line"
    done < <(grep -E '^(Restrict|Protect|Private|SystemCall|Limit|Memory|File|Watchdog|Type|Timeout|[A-Z][A-Za-z]*=(yes|no)?$)' \
        /usr/lib/systemd/system/penstock.service)
    second_instance
    complaints=$(systemd-analyze verify penstock@second.service penstock@second.socket 2>&1 | grep -i penstock)
    [ -z "$complaints" ] || fail "$complaints"
    send first 10
    events second 10 | runuser -u member -- penstock send --acks --socket /run/penstock/second/events.sock ||
        fail "the instance takes no events: $(ls -ld /run/penstock/second /run/penstock/second/* | xargs)"
    exactly_once second 10 "$state/second/archive/events.ndjson.zst"
    exactly_once first 10
    [ -z "$(ids second)" ] || fail "its events are in the archive of the other one"
    systemctl reload penstock@second.service || fail "it does not reload"
    systemctl restart penstock@second.service || fail "it does not restart"
    systemctl disable --now penstock@second.socket penstock@second.service 2>/dev/null
}
