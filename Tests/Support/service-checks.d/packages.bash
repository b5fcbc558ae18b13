# Packages that `make` installs for the tests start no services, and `make uninstall` breaks none. Sourced by service-checks;
# uses its functions.

checks+=(
    packages_start_no_service
    uninstall_refuses_while_it_runs
)

uninstall_refuses_while_it_runs() {
    uninstall && fail "it removes the files of a service that runs"
    grep -q 'penstock.socket is active or enabled.*' "$scratch/answer" || fail "it says: $(cat "$scratch/answer")"
    grep -q 'systemctl disable --now penstock.socket penstock-datagram.socket penstock$' "$scratch/answer" || fail "it does not say what to do: $(cat "$scratch/answer")"
    [ -x /usr/bin/penstockd ] || fail "it removed the program"
    systemctl stop penstock.socket penstock.service
    uninstall && fail "it removes the files of a service that the next boot starts"
    [ -x /usr/bin/penstockd ] || fail "it removed the program of an enabled service"
    second_instance
    systemctl disable --now penstock.socket penstock-datagram.socket penstock.service 2>/dev/null
    uninstall && fail "it removes the files of an instance that runs"
    grep -q 'systemctl disable --now penstock@second' "$scratch/answer" || fail "it does not say what to do: $(cat "$scratch/answer")"
    systemctl disable --now penstock@second.socket penstock@second.service 2>/dev/null
    systemctl enable penstock.socket penstock.service 2>/dev/null
    [ -x /usr/bin/penstockd ] || fail "it removed the program of an instance"
}
uninstall() { make --no-print-directory uninstall DESTDIR= PREFIX=/usr SYSCONFDIR=/etc >"$scratch/answer" 2>&1; }

# A package with a service, and with the maintainer scripts that debhelper generates.
service_package() { # NAME VERSION
    local root=$scratch/$1-$2
    mkdir -p "$root/DEBIAN" "$root/lib/systemd/system" "$root/etc/init.d"
    printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\nDescription: a service\n' "$1" "$2" >"$root/DEBIAN/control"
    printf '[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n' >"$root/lib/systemd/system/$1.service"
    printf '#!/bin/sh\n### BEGIN INIT INFO\n# Provides: %s\n# Default-Start: 2 3 4 5\n# Default-Stop: 0 1 6\n### END INIT INFO\ntouch /run/%s.started\n' "$1" "$1" >"$root/etc/init.d/$1"
    sed "s/NAME/$1/g" >"$root/DEBIAN/postinst" <<'SH'
#!/bin/sh
set -e
update-rc.d NAME defaults >/dev/null
deb-systemd-helper unmask 'NAME.service' >/dev/null || true
if deb-systemd-helper --quiet was-enabled 'NAME.service'; then
    deb-systemd-helper enable 'NAME.service' >/dev/null || true
else
    deb-systemd-helper update-state 'NAME.service' >/dev/null || true
fi
systemctl --system daemon-reload >/dev/null || true
if [ -n "$2" ]; then action=restart; else action=start; fi
deb-systemd-invoke $action 'NAME.service' >/dev/null || true
invoke-rc.d NAME $action || true
SH
    chmod 755 "$root/DEBIAN/postinst" "$root/etc/init.d/$1"
    dpkg-deb --build "$root" "$scratch/$1-$2.deb" >/dev/null
}

packages_start_no_service() {
    service_package checked-service 1
    service_package checked-service 2
    service_package running-service 1
    service_package running-service 2
    local before
    before=$(sha256sum /usr/sbin/policy-rc.d 2>&1)
    .ci/install-packages "$scratch/checked-service-1.deb" >"$scratch/answer" 2>&1 || fail "it is not installed: $(cat "$scratch/answer")"
    looks_untouched "after the installation"
    .ci/install-packages "$scratch/checked-service-2.deb" >"$scratch/answer" 2>&1 || fail "it is not upgraded: $(cat "$scratch/answer")"
    looks_untouched "after the upgrade"
    [ "$(sha256sum /usr/sbin/policy-rc.d 2>&1)" = "$before" ] || fail "policy-rc.d has changed"
    # A service that already runs is restarted with the new files.
    dpkg -i "$scratch/running-service-1.deb" >/dev/null 2>&1
    systemctl enable --now running-service.service 2>/dev/null || fail "the test's own service does not start"
    local pid
    pid=$(property MainPID running-service.service)
    .ci/install-packages "$scratch/running-service-2.deb" >"$scratch/answer" 2>&1 || fail "it is not upgraded: $(cat "$scratch/answer")"
    [ "$(property ActiveState running-service.service)" = active ] || fail "a service that ran was stopped"
    [ "$(property MainPID running-service.service)" != "$pid" ] || fail "a service that ran was not restarted"
    systemctl is-enabled --quiet running-service.service || fail "a service that was enabled is not any more"
}

looks_untouched() { # WHEN
    [ "$(property LoadState checked-service.service)" = loaded ] || fail "the service is not installed: the check proves nothing"
    [ "$(property ActiveState checked-service.service)" = inactive ] || fail "it is $(property ActiveState checked-service.service) $1"
    ! systemctl is-enabled --quiet checked-service.service || fail "it is enabled $1"
    [ -z "$(ls /etc/rc[2345].d/S*checked-service 2>/dev/null)" ] || fail "its init script is enabled $1"
    [ ! -e /run/checked-service.started ] || fail "its init script was started $1"
}
