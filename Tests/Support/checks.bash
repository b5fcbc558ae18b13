# Functions for the checks of an installed Penstock. Sourced by service-checks and package-checks, which set $archive, the
# directory $scratch and $begun, the time at which the check began.

fail() { # WHY
    printf '%s\n' "$*" >"$scratch/why"
    exit 1
}

# Configures, enables and starts the instance penstock@second.
second_instance() {
    install -d -m 750 -g penstock /etc/penstock/second
    {
        sed 's#/var/lib/penstock#&/second#; s#/run/penstock#&/second#' "$configuration"
        echo 'control: { socket: /run/penstock/second/control.sock }'
    } >/etc/penstock/second/penstock.yaml
    chgrp penstock /etc/penstock/second/penstock.yaml
    systemctl enable --now penstock@second.socket penstock@second.service 2>/dev/null || fail "penstock@second does not start: $(journalctl -u penstock@second --no-pager -o cat | tail -n 5)"
}

property() { systemctl show --value -p "$1" "${2-penstock.service}"; }

# Polls, because the machine may be busy. SECONDS is a timeout, not a pause.
eventually() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.05
    done
}

events() { # PREFIX COUNT: lines with messageIds PREFIX-1, PREFIX-2, ...
    seq -f "{\"type\":\"track\",\"event\":\"Checked\",\"userId\":\"u1\",\"messageId\":\"$1-%.0f\"}" "$2"
}

send() { # PREFIX COUNT: returns once all are acknowledged
    events "$1" "$2" | penstock send --acks --timeout 1m || fail "penstock send --acks of $2 events failed"
}

text() { # FILE: prints its current contents; a compressed file may end within a frame
    case $1 in
    *.zst) zstdcat -q "$1" 2>/dev/null ;;
    *) cat "$1" 2>/dev/null ;;
    esac
    true
}
has_text() { text "$2" | grep "$1" >/dev/null; }

ids() { # PREFIX [FILE]: prints the numbers of the events in a file, with repetitions
    text "${2-$archive}" | grep -o "\"messageId\":\"$1-[0-9]*\"" | grep -o '[0-9]*"$' | tr -d '"' | sort -n
}

has_all() { # PREFIX COUNT [FILE]
    [ "$(ids "$1" "${3-$archive}" | uniq | wc -l)" -ge "$2" ]
}

exactly_once() { # PREFIX COUNT [FILE]: waits until all events are there, and fails if one is repeated
    local file=${3-$archive}
    eventually 30 has_all "$1" "$2" "$file" ||
        fail "of $2 acknowledged events $(ids "$1" "$file" | uniq | wc -l) are in $file"
    [ -z "$(ids "$1" "$file" | uniq -d)" ] || fail "in $file twice: $1-$(ids "$1" "$file" | uniq -d | xargs)"
}

# Three clients that send one event after the other with `penstock track`, as members of the group.
clients_begin() {
    rm -f "$scratch/enough" "$scratch/lost" "$scratch"/acknowledged.*
    # A failed check ends the clients, too.
    trap 'touch "$scratch/enough"' EXIT
    clients=()
    local client number
    for client in 1 2 3; do
        for ((number = client * 10000 + 1; ; number++)); do
            [ ! -e "$scratch/enough" ] || break
            if runuser -u member -- penstock track Checked --user u1 --timeout 1m -p number="$number" 2>>"$scratch/lost"; then
                echo "$number" >>"$scratch/acknowledged.$client"
            else
                echo "exit status $?" >>"$scratch/lost"
            fi
        done &
        clients+=($!)
    done
}
acknowledged_at_least() { [ "$(cat "$scratch"/acknowledged.* 2>/dev/null | wc -l)" -ge "$1" ]; }
clients_end() { # checks that the file has each event that was acknowledged to them, and no event twice
    touch "$scratch/enough"
    wait "${clients[@]}"
    eventually 30 clients_miss_nothing || fail "acknowledged and not in the file: $(clients_miss | head -n 5 | xargs)"
    [ -z "$(stored_numbers | sort | uniq -d)" ] || fail "in the file twice: $(stored_numbers | sort | uniq -d | head -n 5 | xargs)"
}
stored_numbers() { text "$archive" | grep -o '"number":[0-9]*}' | tr -dc '0-9\n'; }
clients_miss() { comm -23 <(cat "$scratch"/acknowledged.* | sort -u) <(stored_numbers | sort -u); }
clients_miss_nothing() { [ -z "$(clients_miss)" ]; }

log() { # ARGUMENT...: prints what the service logged in this check, without prefixes
    journalctl --sync
    # Not by cursor: if a filter excludes the cursor's entry, journalctl skips one entry too many.
    journalctl -u penstock.service --since "@$begun" -o cat "$@"
}

logged() { log | grep -Eq -- "$1"; }
