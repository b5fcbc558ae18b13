# The RPM package, as far as a Debian system can prove it: rpm installs it there. Sourced by package-checks; uses its functions.

checks+=(
    the_rpm_installs_upgrades_and_erases
)

the_rpm_installs_upgrades_and_erases() {
    local file pid
    file=$(ls "$packages"/penstock-*.rpm)
    run rpm -qp --requires "$file"
    grep -Eq '^glibc >= 2\.[0-9]+$' "$scratch/output" || fail "it requires: $(cat "$scratch/output")"
    ! grep -q 'libcurl' "$scratch/output" || fail "it requires libraries that other distributions name otherwise"
    # Debian's packages are not in rpm's database, hence --nodeps.
    run rpm --force-debian --nodeps -U "$file"
    run systemctl enable --now penstock.socket penstock
    [ "$(stat -c %U:%G:%a "$configuration")" = root:penstock:640 ] || fail "the configuration is $(stat -c %U:%G:%a "$configuration")"
    catalogued || fail "journalctl -x does not know its log entries"
    send old 100
    echo '# Mine.' >>"$configuration"
    pid=$(property MainPID)
    run rpm --force-debian --nodeps -U --replacepkgs "$file"
    grep -q '^# Mine.$' "$configuration" || fail "the configuration was replaced"
    [ "$(property ActiveState)" = active ] || fail "it is $(property ActiveState)"
    eventually 30 other_process "$pid" || fail "the daemon was not restarted"
    send new 100
    exactly_once old 100
    exactly_once new 100
    run rpm --force-debian -e penstock
    [ ! -e /usr/bin/penstockd ] && [ ! -e /usr/lib/penstock ] || fail "it left programs"
    ! catalogued || fail "journalctl -x still knows its log entries"
    [ "$(property ActiveState)" = inactive ] || fail "it is $(property ActiveState)"
    [ -e "$archive" ] && [ -e "$configuration.rpmsave" ] || fail "the removal deleted data: $(ls /etc/penstock)"
}
other_process() { [ "$(property MainPID)" != "$1" ] && [ "$(property ActiveState)" = active ]; }
