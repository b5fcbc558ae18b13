# The socket that systemd holds is never closed. Sourced by service-checks; uses its functions.

checks+=(
    connection_starts_it
    restarts_lose_no_connection
    lines_wait_in_the_socket
    requests_over_tcp_wait_in_the_socket
)

connection_starts_it() {
    systemctl stop penstock.service 2>/dev/null
    [ "$(property ActiveState)" = inactive ] || fail "stopped, it is $(property ActiveState)"
    [ -S /run/penstock/events.sock ] || fail "the socket is gone"
    runuser -u member -- penstock track Checked --user u1 -p while=stopped || fail "penstock track failed"
    [ "$(property ActiveState)" = active ] || fail "it is $(property ActiveState)"
    eventually 15 has_text '"while":"stopped"' "$archive" || fail "the event is not in the archive"
}

restarts_lose_no_connection() {
    local restart
    clients_begin
    for restart in 1 2 3 4 5 6 7 8; do
        eventually 30 acknowledged_at_least $((restart * 10)) || fail "after restart $((restart - 1)) nothing comes through"
        systemctl restart penstock.service || fail "restart $restart failed"
    done
    clients_end
    # No client was turned away.
    [ ! -s "$scratch/lost" ] || fail "clients failed: $(sort "$scratch/lost" | uniq -c | head -n 20)"
}

lines_wait_in_the_socket() {
    # Clients send and disconnect without waiting for an answer while no daemon runs.
    override <<'INI'
[Service]
ExecStartPre=/usr/bin/timeout 30 /bin/sh -c 'until [ -e /etc/penstock/go ]; do sleep 0.05; done'
INI
    rm -f /etc/penstock/go
    systemctl restart --no-block penstock.service
    eventually 15 between || fail "the restart does not come to its pause: $(property ActiveState)/$(property SubState)"
    local client
    for client in 1 2 3 4 5 6 7 8 9 10; do
        events "silent$client" 50 | runuser -u member -- penstock send || fail "client $client could not send"
    done
    between || fail "the daemon ran meanwhile: the check proves nothing"
    touch /etc/penstock/go
    for client in 1 2 3 4 5 6 7 8 9 10; do exactly_once "silent$client" 50; done
}
between() { [ "$(property SubState)" = start-pre ]; }

requests_over_tcp_wait_in_the_socket() {
    trap 'systemctl stop penstock-http.socket 2>/dev/null; rm -f /run/systemd/system/penstock-http.socket; systemctl daemon-reload' EXIT
    # As in the book's chapter "Sending over HTTP".
    cat >/run/systemd/system/penstock-http.socket <<'INI'
[Socket]
ListenStream=127.0.0.1:8377
Service=penstock.service
FileDescriptorName=apps.http
INI
    install -m 600 /dev/stdin /etc/penstock/secrets/key <<<0123456789abcdef
    override <<'INI'
[Service]
LoadCredential=key:/etc/penstock/secrets/key
RestartSec=2
INI
    sed -i 's#^    socket: /run/penstock/events.sock.*#&\n    http: 127.0.0.1:8377\n    write_keys: [!secret key]#' "$configuration"
    systemctl stop penstock.service 2>/dev/null
    systemctl start penstock-http.socket penstock.service || fail "it does not start: $(log | tail -n 3)"
    post 1 || fail "a request fails: $(cat "$scratch/answer")"
    local pid number
    pid=$(property MainPID)
    kill -KILL "$pid"
    [ "$(property ActiveState)" != active ] || [ "$(property MainPID)" != "$pid" ] || eventually 5 between_starts
    for number in 2 3 4; do post $number || fail "request $number fails after a kill: $(cat "$scratch/answer")"; done
    other "$pid" || fail "the daemon was not killed"
    systemctl restart penstock.service || fail "it does not restart"
    post 5 || fail "a request fails after a restart: $(cat "$scratch/answer")"
    exactly_once tcp 5
    penstock status | grep -q 'listens at.*http://127.0.0.1:8377' || fail "status says: $(penstock status)"
    sed -i 's#http: 127.0.0.1:8377#http: 127.0.0.1:8378#' "$configuration"
    systemctl reload penstock.service 2>/dev/null && fail "another address than the unit's is accepted"
    logged 'systemd listens at 127.0.0.1:8377 for it .*FileDescriptorName=apps.http.*its http is 127.0.0.1:8378' || fail "the log says: $(log | tail -n 3)"
}
between_starts() { [ "$(property ActiveState)" != active ]; }
post() { # NUMBER
    curl -sS --max-time 60 -o "$scratch/answer" -w '%{http_code}' -u 0123456789abcdef: -H 'Content-Type: application/json' \
        -d "{\"event\":\"Checked\",\"userId\":\"u1\",\"messageId\":\"tcp-$1\"}" http://127.0.0.1:8377/v1/track 2>>"$scratch/answer" | grep -qx 200
}
