# The tarball. Sourced by package-checks; uses its functions.

checks+=(
    the_tarball_installs
    the_tarball_has_its_libraries
    a_damaged_tarball_changes_nothing
    the_tarball_upgrades
)

unpack() { # in $scratch/tarball
    local file
    file=$(ls "$packages"/penstock-*-linux-*.tar.gz)
    (cd "$packages" && run sha256sum --strict -c "${file##*/}.sha256") || exit 1
    rm -rf "$scratch/tarball"
    mkdir "$scratch/tarball"
    run tar -C "$scratch/tarball" --strip-components 1 -xf "$file"
}

start_it() {
    run systemctl enable --now penstock.socket penstock
}

the_tarball_installs() {
    unpack
    run "$scratch/tarball/install"
    start_it
    send installed 10
    exactly_once installed 10
    [ "$(readlink "/proc/$(property MainPID)/exe")" = /usr/local/bin/penstockd ] || fail "it runs $(readlink "/proc/$(property MainPID)/exe")"
    [ "$(stat -c %U:%G:%a "$configuration")" = root:penstock:640 ] || fail "the configuration is $(stat -c %U:%G:%a "$configuration")"
    catalogued || fail "journalctl -x does not know its log entries"
    run penstock plugins list
    grep -q '^kafka ' "$scratch/output" || fail "there is no plugin kafka: $(cat "$scratch/output")"
    second_instance
    run "$scratch/tarball/install" --uninstall
    ! pgrep -x penstockd >/dev/null || fail "a daemon runs"
    [ -z "$(find /etc/systemd -name '*penstock*')" ] || fail "it left: $(find /etc/systemd -name '*penstock*' | xargs)"
    [ -z "$(find /usr/local -iname '*penstock*')" ] || fail "it left: $(find /usr/local -iname '*penstock*' | xargs)"
    ! catalogued || fail "journalctl -x still knows its log entries"
    [ "$(property ActiveState)" = inactive ] || fail "it is $(property ActiveState)"
    [ -e "$archive" ] && [ -e "$configuration" ] || fail "the removal deleted data"
}

the_tarball_has_its_libraries() {
    unpack
    run "$scratch/tarball/install"
    local file
    for file in /usr/local/bin/penstock{,d} /usr/local/libexec/penstock/* /usr/local/lib/penstock/*.so* /usr/local/lib/penstock/plugins/*; do
        ldd "$file" >"$scratch/output" 2>&1 || fail "ldd $file: $(cat "$scratch/output")"
        ! grep -v ' /usr/local/[^ ]*lib/penstock/\|linux-vdso\|/ld-linux\| \(/usr\)\?/lib/[^/]*/lib\(c\|m\|dl\|rt\|pthread\|resolv\|util\)\.so\.[0-9]' "$scratch/output" >"$scratch/foreign" ||
            fail "$file needs libraries of the machine: $(cat "$scratch/foreign")"
    done
    grep -Eq '^2\.[0-9]+$' "$scratch/tarball/glibc" || fail "the version of glibc is $(cat "$scratch/tarball/glibc")"
}

a_damaged_tarball_changes_nothing() {
    unpack
    printf x | dd of="$scratch/tarball/bin/penstockd" bs=1 seek=4096 conv=notrunc 2>/dev/null
    "$scratch/tarball/install" >"$scratch/output" 2>&1 && fail "a damaged program is installed"
    grep -q 'bin/penstockd: FAILED' "$scratch/output" || fail "it says: $(cat "$scratch/output")"
    unpack
    rm "$scratch/tarball/bin/penstock"
    "$scratch/tarball/install" >"$scratch/output" 2>&1 && fail "a tarball without a file is installed"
    [ ! -e /usr/local/bin/penstockd ] && [ ! -e /etc/penstock ] || fail "it installed something"
    unpack
}

the_tarball_upgrades() {
    unpack
    run "$scratch/tarball/install"
    start_it
    local pid second
    second_instance
    second=$(property MainPID penstock@second.service)
    pid=$(property MainPID)
    send old 100
    echo '# Mine.' >>"$configuration"
    run "$scratch/tarball/install"
    grep -q '^# Mine.$' "$configuration" || fail "the configuration was replaced"
    grep -q "^kept: $configuration" "$scratch/output" || fail "it says: $(cat "$scratch/output")"
    [ "$(property MainPID)" != "$pid" ] && [ "$(property ActiveState)" = active ] || fail "the daemon was not restarted"
    [ "$(property MainPID penstock@second.service)" != "$second" ] && [ "$(property ActiveState penstock@second.service)" = active ] || fail "the instance was not restarted"
    send new 100
    exactly_once old 100
    exactly_once new 100
    # For an image of another system.
    run "$scratch/tarball/install" --root "$scratch/image" --prefix /opt/penstock
    grep -q '^ExecStart=/opt/penstock/bin/penstockd ' "$scratch/image/opt/penstock/lib/systemd/system/penstock.service" || fail "the unit has another path"
    run "$scratch/tarball/install" --uninstall --root "$scratch/image" --prefix /opt/penstock
    [ -z "$(find "$scratch/image/opt" -type f)" ] || fail "it left: $(find "$scratch/image/opt" -type f | xargs)"
    rm -r "$scratch/image"
}
