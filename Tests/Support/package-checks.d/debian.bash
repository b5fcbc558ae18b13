# The Debian packages. Sourced by package-checks; uses its functions.

checks+=(
    three_commands_to_a_routed_event
    installed_it_is_enabled_and_private
    no_file_needs_the_toolchain
    plugins_come_in_packages
    the_header_builds_a_plugin
    the_profile_is_valid
    an_upgrade_loses_nothing
    an_upgrade_keeps_the_configuration
    a_disabled_service_stays_disabled
    a_downgrade_keeps_the_events
    scripts_may_run_twice
    a_removal_keeps_the_data
    a_purge_deletes_everything
    a_removed_socket_starts_nothing
)

architecture=$(dpkg --print-architecture)
deb=$(ls "$packages"/penstock_*_"$architecture".deb)
version=$(dpkg-deb -f "$deb" Version)
apt() { run apt-get -y -o Dpkg::Use-Pty=0 "$@"; }
# Faster than apt, which reads its lists.
install_packages() { run dpkg -i "$@"; }

# A next version of the package, whose shipped configuration differs. Its path is in $newer.
newer=$scratch/penstock_$version+1_$architecture.deb
make_newer() {
    [ ! -e "$newer" ] || return 0
    dpkg-deb -R "$deb" "$scratch/newer" || fail "the package cannot be unpacked"
    sed -i "s/^Version: .*/&+1/" "$scratch/newer/DEBIAN/control"
    for file in penstock.yaml examples/quickstart.yaml; do
        echo '# Of the next version.' >>"$scratch/newer/etc/penstock/$file"
        sed -i "s#^[0-9a-f]*  etc/penstock/$file#$(md5sum <"$scratch/newer/etc/penstock/$file" | cut -c 1-32)  etc/penstock/$file#" "$scratch/newer/DEBIAN/md5sums"
    done
    dpkg-deb -Znone --build "$scratch/newer" "$newer" >"$scratch/output" || fail "the next version cannot be built"
    rm -r "$scratch/newer"
}

three_commands_to_a_routed_event() {
    local begin=$EPOCHREALTIME milliseconds
    run apt-get -y install "$deb"
    run penstock track "Hello World" --user me
    # A batch for a compressed file waits for 1 s.
    eventually 60 has_text '"event":"Hello World"' "$archive" || fail "the event is not in the archive: $(penstock status)"
    milliseconds=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
    echo "package-checks: from apt-get install to a routed event: $milliseconds ms" >&2
    [ $milliseconds -lt 60000 ] || fail "it took $milliseconds ms"
    run penstock status
}

installed_it_is_enabled_and_private() {
    install_packages "$deb"
    [ "$(property ActiveState)/$(property SubState)" = active/running ] || fail "it is $(property ActiveState)/$(property SubState)"
    systemctl is-enabled --quiet penstock.service penstock.socket || fail "it is not enabled"
    ! systemctl is-enabled --quiet penstock-datagram.socket || fail "the socket for datagrams is enabled"
    [ "$(stat -c %U "/proc/$(property MainPID)")" = penstock ] || fail "it does not run as penstock"
    local path access
    while read -r path access; do
        [ "$(stat -c %U:%G:%a "$path")" = "$access" ] || fail "$path is $(stat -c %U:%G:%a "$path"), not $access"
    done <<'PATHS'
/etc/penstock root:penstock:750
/etc/penstock/penstock.yaml root:penstock:640
/etc/penstock/conf.d root:penstock:750
/etc/penstock/secrets root:root:700
/var/lib/penstock penstock:penstock:750
/run/penstock/events.sock penstock:penstock-clients:660
/usr/bin/penstockd root:root:755
PATHS
    catalogued || fail "journalctl -x does not know its log entries"
    runuser -u member -- penstock track Intrusion --user u1 2>/dev/null && fail "a stranger may send"
    runuser -u penstock -- penstock check >"$scratch/output" 2>&1 || fail "check says: $(cat "$scratch/output")"
    for path in man1/penstock.1 man8/penstockd.8 man5/penstock.yaml.5 man7/penstock-filters.7; do
        [ -e "/usr/share/man/$path.gz" ] || fail "there is no manual page $path"
    done
    for path in doc/penstock/Operations.md doc/penstock/copyright bash-completion/completions/penstock \
        zsh/vendor-completions/_penstock fish/vendor_completions.d/penstock.fish; do
        [ -e "/usr/share/$path" ] || fail "there is no /usr/share/$path"
    done
    [ -z "$(systemd-analyze verify penstock.service penstock.socket 2>&1 | grep -i penstock)" ] || fail "systemd-analyze verify complains"
}

plugin_packages() { ls "$packages"/penstock-plugin-*_"$architecture".deb; }

no_file_needs_the_toolchain() {
    # shellcheck disable=SC2046
    install_packages "$deb" $(plugin_packages)
    local file
    [ -z "$(ls -A "$toolchain")" ] || fail "the toolchain is visible: the check proves nothing"
    for file in /usr/bin/penstock /usr/bin/penstockd /usr/libexec/penstock/penstock-plugin-host /usr/lib/penstock/*.so /usr/lib/penstock/plugins/*.so; do
        ldd "$file" >"$scratch/output" 2>&1 || fail "ldd $file: $(cat "$scratch/output")"
        ! grep -q 'not found' "$scratch/output" || fail "$file: $(grep 'not found' "$scratch/output")"
        case $(readelf -d "$file" | sed -n 's/.*R\(UN\)\?PATH.*\[\(.*\)\]/\2/p') in
        '' | '$ORIGIN' | '$ORIGIN/..' | '$ORIGIN/../lib/penstock' | '$ORIGIN/../../lib/penstock') ;;
        *) fail "$file searches $(readelf -d "$file" | grep PATH)" ;;
        esac
    done
}

plugins_come_in_packages() {
    local plugin
    install_packages "$deb"
    run penstock plugins list
    for plugin in sqlite console journald; do grep -q "^$plugin " "$scratch/output" || fail "there is no plugin $plugin: $(cat "$scratch/output")"; done
    ! grep -q "^postgres " "$scratch/output" || fail "the plugin postgres is in the package penstock"
    # shellcheck disable=SC2046
    install_packages $(plugin_packages)
    run penstock plugins list
    for plugin in postgres nats kafka redis mqtt; do grep -q "^$plugin " "$scratch/output" || fail "there is no plugin $plugin: $(cat "$scratch/output")"; done
    # A plugin's process starts, in the service's sandbox.
    cat >/etc/penstock/conf.d/database.yaml <<'YAML'
routes: [ { name: database, to: [database] } ]
destinations: { database: { plugin: sqlite, settings: { path: /var/lib/penstock/events.db, table: events } } }
YAML
    run systemctl reload penstock
    run penstock track Stored --user u1
    eventually 15 stored || fail "the event is not in the database: $(penstock status)"
}
stored() { sqlite3 "$state/events.db" 'select * from events' 2>/dev/null | grep -q Stored; }

the_header_builds_a_plugin() {
    install_packages "$deb" "$packages"/libpenstock-dev_*_all.deb
    run penstock plugins new --language c --directory "$scratch" sample
    [ -n "$(find "$scratch/sample" -name penstock_plugin.h -delete -printf x)" ] || fail "the project has no copy of the header: the check proves nothing"
    # shellcheck disable=SC2046
    run cc -shared -fPIC $(pkg-config --cflags penstock-plugin) -o "$(pkg-config --variable=plugindir penstock-plugin)/sample.so" "$scratch"/sample/*.c
    run penstock plugins inspect /usr/lib/penstock/plugins/sample.so
    rm /usr/lib/penstock/plugins/sample.so
    [ "$(pkg-config --modversion penstock-plugin)" = "$(penstock --version)" ] || fail "pkg-config says version $(pkg-config --modversion penstock-plugin)"
}

the_profile_is_valid() {
    install_packages "$deb"
    run apparmor_parser --skip-kernel-load --skip-cache /etc/apparmor.d/usr.bin.penstockd
    ! grep -v 'interface file missing' "$scratch/output" || fail "apparmor_parser says: $(cat "$scratch/output")"
    grep -c 'flags=(complain' /etc/apparmor.d/usr.bin.penstockd >"$scratch/output"
    [ "$(cat "$scratch/output")" = "$(grep -c '^ *profile ' /etc/apparmor.d/usr.bin.penstockd)" ] || fail "a profile is not in complain mode"
    [ -e /etc/apparmor.d/local/usr.bin.penstockd ] || fail "there is no file for the operator's own rules"
}

an_upgrade_loses_nothing() {
    make_newer
    install_packages "$deb"
    usermod -aG penstock-clients member
    local pid socket stream before second
    second_instance
    second=$(property MainPID penstock@second.service)
    pid=$(property MainPID)
    socket=$(property ActiveEnterTimestampMonotonic penstock.socket)
    send before 1000
    clients_begin
    # And one that sends without pause, on one connection, which the next daemon continues.
    python3 "${BASH_SOURCE[0]%/*}/stream.py" /run/penstock/events.sock "$scratch/enough" >"$scratch/acknowledged.stream" 2>"$scratch/stream" &
    stream=$!
    eventually 30 stream_has 100 || fail "nothing is acknowledged: $(cat "$scratch/stream")"
    apt install "$newer"
    before=$(wc -l <"$scratch/acknowledged.stream")
    eventually 30 stream_has $((before + 1000)) || fail "the stream got $(($(wc -l <"$scratch/acknowledged.stream") - before)) acknowledgements after the upgrade: $(tail -n 1 "$scratch/stream")"
    clients_end
    wait $stream || fail "the stream failed: $(cat "$scratch/stream")"
    clients_miss_nothing || fail "acknowledged and not in the file: $(clients_miss | head -n 5 | xargs)"
    [ ! -s "$scratch/lost" ] || fail "clients saw errors: $(head -n 3 "$scratch/lost")"
    [ "$(property MainPID)" != "$pid" ] || fail "the daemon was not restarted"
    [ "$(property ActiveState penstock@second.service)" = active ] && [ "$(property MainPID penstock@second.service)" != "$second" ] || fail "the instance was not restarted"
    [ "$(property ActiveEnterTimestampMonotonic penstock.socket)" = "$socket" ] || fail "the socket was closed"
    grep -q '^0 connections ended by the daemon, 0 refused' "$scratch/stream" || fail "the stream noticed the restart: $(cat "$scratch/stream")"
    exactly_once before 1000
    echo "package-checks: through the upgrade: $(cat "$scratch"/acknowledged.[123] | wc -l) events one by one, and $(wc -l <"$scratch/acknowledged.stream") of a stream; $(cat "$scratch/stream")" >&2
}
stream_has() { [ "$(wc -l <"$scratch/acknowledged.stream")" -ge "$1" ]; }

an_upgrade_keeps_the_configuration() {
    make_newer
    install_packages "$deb"
    echo '# Mine.' >>"$configuration"
    echo 'routes: [ { name: also, to: [archive] } ]' >/etc/penstock/conf.d/mine.yaml
    # As unattended-upgrades does it. Without the option, dpkg asks.
    apt -o Dpkg::Options::=--force-confold install "$newer"
    grep -q '^# Mine.$' "$configuration" || fail "the edited configuration was replaced"
    ! grep -q '^# Of the next version.$' "$configuration" || fail "the edited configuration has lines of the next version"
    grep -q '^# Of the next version.$' "$configuration.dpkg-dist" || fail "the new file is not beside it: $(ls /etc/penstock)"
    grep -q '^# Of the next version.$' /etc/penstock/examples/quickstart.yaml || fail "a file that was not edited was not replaced"
    [ "$(stat -c %U:%G:%a "$configuration")" = root:penstock:640 ] || fail "its access is $(stat -c %U:%G:%a "$configuration")"
    [ -e /etc/penstock/conf.d/mine.yaml ] || fail "conf.d was changed"
    [ "$(property ActiveState)" = active ] || fail "it is $(property ActiveState)"
    send after 1
    exactly_once after 1
}

a_disabled_service_stays_disabled() {
    make_newer
    install_packages "$deb"
    run systemctl disable --now penstock.socket penstock.service
    install_packages "$newer"
    ! systemctl is-enabled --quiet penstock.service || fail "the service is enabled"
    ! systemctl is-enabled --quiet penstock.socket || fail "the socket is enabled"
    [ "$(property ActiveState)/$(property ActiveState penstock.socket)" = inactive/inactive ] || fail "they are $(property ActiveState)/$(property ActiveState penstock.socket)"
}

a_downgrade_keeps_the_events() {
    make_newer
    install_packages "$newer"
    send old 100
    apt install --allow-downgrades "$deb"
    [ "$(dpkg-query -W -f '${Version}' penstock)" = "$version" ] || fail "it was not downgraded"
    send new 100
    exactly_once old 100
    exactly_once new 100
}

scripts_may_run_twice() {
    install_packages "$deb"
    local before pid script=/var/lib/dpkg/info/penstock
    pid=$(property MainPID)
    before=$(find /etc/penstock "$state" -printf '%p %M %u %g\n' | sort)
    export DPKG_MAINTSCRIPT_PACKAGE=penstock
    run "$script.postinst" configure
    run "$script.postinst" configure "$version"
    run "$script.postinst" abort-remove
    [ "$(find /etc/penstock "$state" -printf '%p %M %u %g\n' | sort)" = "$before" ] || fail "postinst changed files"
    [ "$(property MainPID)" != "$pid" ] || fail "an upgrade restarts the daemon, and postinst did not"
    run "$script.prerm" remove
    run "$script.prerm" remove
    [ "$(property ActiveState)" = inactive ] || fail "prerm did not stop it"
    run dpkg --purge penstock
    run dpkg --purge penstock
}

a_removal_keeps_the_data() {
    install_packages "$deb"
    echo '# Mine.' >>"$configuration"
    send kept 100
    exactly_once kept 100
    apt remove penstock
    [ ! -e /usr/bin/penstockd ] || fail "the program is still there"
    ! catalogued || fail "journalctl -x still knows its log entries"
    [ "$(property LoadState)" != loaded ] || [ "$(property ActiveState)" = inactive ] || fail "it is $(property ActiveState)"
    [ ! -S /run/penstock/events.sock ] || fail "the socket is still there"
    [ -e "$archive" ] && [ -n "$(ls "$state/journal")" ] || fail "events were deleted: $(ls "$state")"
    grep -q '^# Mine.$' "$configuration" || fail "the configuration was deleted"
    install_packages "$deb"
    grep -q '^# Mine.$' "$configuration" || fail "the configuration was replaced"
    send again 1
    exactly_once again 1
    exactly_once kept 100
}

leftovers() {
    find /etc /usr /lib /var/lib /var/cache /run -xdev \( -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache/apt \) -prune -o -iname '*penstock*' -print 2>/dev/null
}

a_purge_deletes_everything() {
    # shellcheck disable=SC2046
    install_packages "$deb" $(plugin_packages) "$packages"/libpenstock-dev_*_all.deb
    install -m 600 /dev/stdin /etc/penstock/secrets/token <<<secret
    systemctl enable penstock-datagram.socket 2>/dev/null
    mkdir /srv/penstock.archive
    second_instance
    send purged 10
    exactly_once purged 10
    apt purge 'penstock*' libpenstock-dev
    [ -z "$(leftovers)" ] || fail "it left: $(leftovers | xargs)"
    [ "$(property ActiveState)/$(property ActiveState penstock.socket)" = inactive/inactive ] || fail "they are $(property ActiveState)/$(property ActiveState penstock.socket)"
    ! pgrep -x penstockd >/dev/null || fail "a daemon runs"
    [ -d /srv/penstock.archive ] || fail "a directory elsewhere was deleted"
    getent passwd penstock >/dev/null || fail "the user was deleted, whose files may be elsewhere"
    install_packages "$deb"
    send anew 1
    exactly_once anew 1
}

a_removed_socket_starts_nothing() {
    install_packages "$deb"
    usermod -aG penstock-clients member
    clients_begin
    eventually 30 acknowledged_at_least 5 || fail "nothing is acknowledged"
    # Clients connect while it is removed. Nothing may start the daemon again.
    apt remove penstock
    touch "$scratch/enough"
    wait "${clients[@]}"
    ! pgrep -x penstockd >/dev/null || fail "a daemon runs"
    [ "$(systemctl list-units --all --no-legend 'penstock*' | grep -c ' active ')" = 0 ] || fail "$(systemctl list-units --all 'penstock*')"
}
