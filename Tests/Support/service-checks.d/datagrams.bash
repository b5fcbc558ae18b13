# The socket unit for datagrams. Sourced by service-checks; uses its functions.

checks+=(
    datagrams_wait_in_their_socket
    unread_datagrams_are_reported
)

datagram() { # USER NUMBER: as a user, sends the event datagram-NUMBER
    echo "{\"type\":\"track\",\"event\":\"Checked\",\"userId\":\"u1\",\"messageId\":\"datagram-$2\"}" >"$scratch/datagram"
    chmod 644 "$scratch/datagram"
    runuser -u "$1" -- python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(open(sys.argv[1], "rb").read(), "/run/penstock/events.dgram")' \
        "$scratch/datagram" 2>>"$scratch/datagram.errors"
}

datagrams_end() {
    systemctl disable --now penstock-datagram.socket 2>/dev/null
    systemctl reset-failed penstock-datagram.socket 2>/dev/null
    true
}

datagrams_wait_in_their_socket() {
    trap datagrams_end EXIT
    sed -i 's|^    # datagram: |    datagram: |' "$configuration"
    systemctl enable penstock-datagram.socket 2>/dev/null || fail "systemctl enable failed"
    systemctl stop penstock.service 2>/dev/null
    systemctl start penstock-datagram.socket penstock.service || fail "the service does not start with both sockets: $(log)"
    penstock check >"$scratch/answer" 2>&1 || fail "check says: $(cat "$scratch/answer")"
    ! grep -q "has no effect\|nothing reads it" "$scratch/answer" || fail "the unit and the configuration differ: $(cat "$scratch/answer")"
    [ "$(stat -c %U:%G:%a /run/penstock/events.dgram)" = penstock:penstock-clients:660 ] || fail "its access is $(stat -c %U:%G:%a /run/penstock/events.dgram)"
    penstock status | grep -q "/run/penstock/events.sock, /run/penstock/events.dgram" || fail "status says: $(penstock status)"
    datagram member 1 || fail "a member cannot send"
    datagram stranger 2 && fail "a stranger can send"
    exactly_once datagram 1
    # Between two daemons, datagrams wait. The next one starts the daemon.
    systemctl stop penstock.service 2>/dev/null
    datagram member 2 || fail "nothing can be sent while the daemon is stopped"
    eventually 30 systemctl is-active --quiet penstock.service || fail "a datagram does not start the daemon"
    exactly_once datagram 2
    local number
    for number in 3 4 5 6 7 8; do
        datagram member "$number" || fail "datagram $number could not be sent"
        systemctl restart penstock.service || fail "the restart after datagram $number failed"
    done
    exactly_once datagram 8
    [ "$(journalctl -u penstock-datagram.socket --since "@$begun" -p warning -o cat | grep -c .)" = 0 ] || fail "systemd warns: $(journalctl -u penstock-datagram.socket --since "@$begun" -o cat)"
}

unread_datagrams_are_reported() {
    trap datagrams_end EXIT
    systemctl stop penstock.service 2>/dev/null
    systemctl start penstock-datagram.socket penstock.service || fail "the service does not start with both sockets: $(log)"
    penstock check >"$scratch/answer" 2>&1 || fail "check says: $(cat "$scratch/answer")"
    grep -q 'systemd passes a datagram socket for source "apps", and nothing reads it' "$scratch/answer" || fail "check says: $(cat "$scratch/answer")"
}
