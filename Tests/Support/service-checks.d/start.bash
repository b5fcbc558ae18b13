# The service after a start, and who may send. Sourced by service-checks; uses its functions.

checks+=(
    starts_and_is_ready
    status_is_a_sentence
    units_hold_no_mistake
    exposure_is_low
    members_may_send
    others_may_not
    status_has_exit_codes
    clients_wait_for_a_valid_configuration
)

starts_and_is_ready() {
    # Type=notify: active means that READY=1 was received.
    [ "$(property Type)" = notify ] || fail "Type=$(property Type)"
    [ "$(property ActiveState)/$(property SubState)" = active/running ] || fail "it is $(property ActiveState)/$(property SubState)"
    systemctl is-enabled --quiet penstock.service penstock.socket || fail "enabling the service did not enable its socket"
    [ "$(stat -c %U "/proc/$(property MainPID)")" = penstock ] || fail "it does not run as penstock"
}

status_is_a_sentence() {
    local text
    text=$(property StatusText)
    [[ $text =~ ^[0-9,]+\ events/s\;\ 1\ destination\ up$ ]] || fail "STATUS is: $text"
    configure <<'YAML'
routes: [ { to: [collector] } ]
destinations: { collector: { http: "http://127.0.0.1:9/", format: ndjson, start: earliest } }
YAML
    systemctl reload penstock.service || fail "reload failed"
    send status 1
    eventually 15 says "0 destinations up, collector retrying: .*" || fail "with a dead service STATUS is: $(property StatusText)"
}
says() { property StatusText | grep -Eq "$1"; }

units_hold_no_mistake() {
    local complaints
    complaints=$(systemd-analyze verify penstock.service penstock.socket penstock-datagram.socket 2>&1 | grep -i penstock)
    [ -z "$complaints" ] || fail "$complaints"
}

exposure_is_low() {
    local exposure
    exposure=$(systemd-analyze security --no-pager penstock.service | grep -o 'Overall exposure level.*: [0-9.]*' | grep -o '[0-9.]*$')
    awk -v exposure="${exposure:-10}" 'BEGIN { exit !(exposure <= 1.2) }' || fail "systemd-analyze security says ${exposure:-nothing}"
}

members_may_send() {
    runuser -u member -- penstock track "Order Completed" --user u1 -p total=12.5 || fail "penstock track failed"
    eventually 15 has_text '"event":"Order Completed".*"total":12.5' "$archive" || fail "the event is not in the archive"
    [ -z "$(find "$archive" -perm /o=rwx)" ] || fail "everybody may read the archive"
}

others_may_not() {
    runuser -u stranger -- penstock track "Intrusion" --user u1 2>"$scratch/answer" && fail "penstock track succeeded"
    grep -q "permission denied" "$scratch/answer" || fail "it said: $(cat "$scratch/answer")"
    # This event comes after the rejected one.
    send others 1
    exactly_once others 1
    ! has_text Intrusion "$archive" || fail "the event is in the archive"
}

status_has_exit_codes() {
    penstock status >"$scratch/answer" || fail "exit status $? while it runs: $(cat "$scratch/answer")"
    systemctl stop penstock.socket penstock.service
    penstock status >/dev/null 2>"$scratch/answer"
    local code=$?
    [ $code = 2 ] || fail "exit status $code while it does not run"
    grep -q "not running" "$scratch/answer" || fail "it said: $(cat "$scratch/answer")"
}

clients_wait_for_a_valid_configuration() {
    local client
    configure <<'YAML'
routes: [ { to: [nowhere] } ]
YAML
    systemctl restart penstock.service 2>/dev/null && fail "it starts with an invalid configuration"
    runuser -u member -- penstock track "Waited" --user u1 --timeout 60s 2>"$scratch/answer" &
    client=$!
    # The client's connection starts the service again and again. Without a pause, systemd closes the socket at the
    # 20th start in 2 s.
    sleep 4
    [ "$(systemctl show --value -p ActiveState penstock.socket)" = active ] || fail "systemd closed the socket"
    cp "$scratch/shipped.yaml" "$configuration"
    eventually 15 systemctl start penstock.service || fail "it does not start with a valid configuration"
    wait $client || fail "the client got an error: $(cat "$scratch/answer")"
    eventually 15 has_text '"event":"Waited"' "$archive" || fail "the event is not in the archive"
}
