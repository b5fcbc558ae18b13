# The journal and the configuration on another host, as the book's chapter "Backup and restore" describes it. Sourced by
# service-checks; uses its functions. The last part: it changes the numbers of the user penstock.

checks+=(it_moves_to_another_host)

it_moves_to_another_host() {
    # The port of this check alone: nobody may receive anything on the old host.
    configure <<YAML
routes: [ { to: [archive, collector] } ]
destinations:
  archive: { file: $state/archive/events.ndjson }
  collector: { http: "http://127.0.0.1:8396", format: ndjson, retry: { initial: 100ms, max: 1s }, headers: { Authorization: !secret token } }
YAML
    install -m 600 /dev/stdin /etc/penstock/secrets/token <<<moved
    override <<'INI'
[Service]
LoadCredential=token:/etc/penstock/secrets/token
INI
    systemctl restart penstock.service || fail "it does not start: $(log | tail -n 3)"
    send before 500
    exactly_once before 500 "$state/archive/events.ndjson"
    # The old host. The collector has received nothing yet.
    systemctl disable --now penstock.socket penstock.service 2>/dev/null
    tar -C / -cf "$scratch/moved.tar" etc/penstock var/lib/penstock || fail "the test's own copy fails"
    rm -rf /etc/penstock "${state:?}"
    # The new host has the package, and its users have other numbers. tar maps names, as rsync -a does.
    usermod -u 4321 penstock && groupmod -g 4322 penstock || fail "the test's own new numbers are not set"
    tar -C / -xpf "$scratch/moved.tar"
    penstock check >"$scratch/answer" 2>&1 || fail "check: $(cat "$scratch/answer")"
    penstock journal verify >"$scratch/answer" 2>&1 || fail "journal verify: $(cat "$scratch/answer")"
    receive 8396
    systemctl enable --now penstock.socket penstock.service 2>/dev/null || fail "it does not start: $(log | tail -n 3)"
    send after 500
    exactly_once before 500 "$state/archive/events.ndjson"
    exactly_once after 500 "$state/archive/events.ndjson"
    exactly_once before 500 "$scratch/received"
    exactly_once after 500 "$scratch/received"
    [ "$(sort -u "$scratch/authorization")" = moved ] || fail "the secret is $(sort -u "$scratch/authorization")"
    [ "$(stat -c %U "$state/journal")" = penstock ] || fail "the journal belongs to $(stat -c %U "$state/journal")"
}
