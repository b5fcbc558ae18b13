import CSystemd
import Glibc

/// Reports the daemon's state to systemd (sd_notify(3)). Without a service manager (no NOTIFY_SOCKET), every call does
/// nothing. Any thread; each call sends one datagram.
///
/// A message that cannot be sent is ignored: it is not the daemon's error.
package struct ServiceNotifier: Sendable {
    /// How often systemd expects `watchdog()` (WatchdogSec=); nil: the watchdog is off. Call it at half of this
    /// interval, and only while every thread makes progress.
    package let watchdogInterval: Duration?

    private let clock: any Clock

    package init(clock: any Clock = SystemClock()) {
        self.clock = clock
        var microseconds: UInt64 = 0
        let enabled = unsafe sd_watchdog_enabled(0, &microseconds) > 0
        watchdogInterval = enabled && microseconds > 0 ? .microseconds(Int64(clamping: microseconds)) : nil
    }

    /// The journal is recovered and the sockets serve. Also ends a reload, whether or not the new configuration was
    /// applied.
    package func ready(_ status: String) {
        send("READY=1\nSTATUS=\(status.withControlCharactersEscaped)")
    }

    /// Sets the sentence that `systemctl status` shows.
    package func status(_ status: String) {
        send("STATUS=\(status.withControlCharactersEscaped)")
    }

    /// A reload begins; `ready` ends it. The monotonic time tells systemd which reload this is.
    package func reloading() {
        send("RELOADING=1\nMONOTONIC_USEC=\(clock.now().nanoseconds / 1000)")
    }

    /// The start has failed and the process is about to exit. Returns once systemd has received the sentence, which it
    /// shows until the next start.
    package func failed(_ status: String) {
        self.status(status)
        _ = sd_notify_barrier(0, 5_000_000)
    }

    /// The drain begins.
    package func stopping(_ status: String) {
        send("STOPPING=1\nSTATUS=\(status.withControlCharactersEscaped)")
    }

    /// Every thread makes progress.
    package func watchdog() {
        send("WATCHDOG=1")
    }

    /// A start, stop or reload needs `time` more from now. systemd waits at least that long.
    package func extendTimeout(by time: Duration) {
        send("EXTEND_TIMEOUT_USEC=\(max(time.inNanoseconds / 1000, 1))")
    }

    /// Hands descriptors to systemd, which keeps them open after the end of this process and passes them to the next
    /// one (FDSTORE=1, sd_pid_notify_with_fds(3)). Not polled: an ended socket stays. No effect if the unit has no
    /// FileDescriptorStoreMax=.
    /// - Returns: false: there is no service manager.
    package func keep(_ descriptors: [Int32], name: String) -> Bool {
        unsafe sd_pid_notify_with_fds(
            0, 0, "FDSTORE=1\nFDPOLL=0\nFDNAME=\(name)", descriptors, UInt32(clamping: descriptors.count)) > 0
    }

    /// systemd closes what it keeps under a name.
    package func forget(name: String) { send("FDSTOREREMOVE=1\nFDNAME=\(name)") }

    /// Waits until systemd has received what was sent before, for a second at most.
    package func awaitReceipt() { _ = sd_notify_barrier(0, 1_000_000) }

    private func send(_ state: String) {
        _ = unsafe sd_notify(0, state)
    }
}
