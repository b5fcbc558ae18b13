# Hostile clients. Sourced by service-checks; uses its functions.

checks+=(
    an_attack_harms_nobody_else
)

an_attack_harms_nobody_else() {
    local pid idle most attacked count
    send before 100
    pid=$(property MainPID)
    idle=$(resident "$pid")
    runuser -u member -- Tests/Support/attack refused-acks /run/penstock/events.sock --clients 1000 --seconds 8 >"$scratch/attack" 2>&1 &
    attacked=$!
    # Root is another user than the attackers. Each event is acknowledged before the next one is sent.
    Tests/Support/attack sound /run/penstock/events.sock --seconds 8 >"$scratch/sound" 2>&1 || fail "the sound client: $(cat "$scratch/sound")"
    count=$(grep -o '"acknowledged": [0-9]*' "$scratch/sound" | grep -o '[0-9]*$')
    [ "${count:-0}" -gt 0 ] || fail "the sound client got no acknowledgement: $(cat "$scratch/sound")"
    wait "$attacked" || fail "the attack failed: $(cat "$scratch/attack")"
    [ "$(property MainPID)/$(property NRestarts)" = "$pid/0" ] || fail "the daemon was restarted: $(log)"
    most=$(memory VmHWM "$pid")
    [ "$most" -lt 131072 ] || fail "it had $most kB resident"
    penstock status --json | grep -q max_consecutive_refusals || fail "status does not name the limit: $(penstock status)"
    eventually 60 back_to "$pid" $((idle + 16384)) || fail "a minute later it has $(resident "$pid") kB resident, idle it had $idle kB"
    exactly_once sound "$count"
}
memory() { sed -n "s/^$1:[[:space:]]*\([0-9]*\) kB/\1/p" "/proc/$2/status"; }
resident() { memory VmRSS "$1"; }
back_to() { [ "$(resident "$1")" -le "$2" ]; }
