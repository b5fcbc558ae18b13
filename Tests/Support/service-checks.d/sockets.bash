# The socket that systemd holds is never closed. Sourced by service-checks; uses its functions.

checks+=(
    connection_starts_it
    restarts_lose_no_connection
    lines_wait_in_the_socket
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
