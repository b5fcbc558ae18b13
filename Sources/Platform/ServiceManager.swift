import CSystemd
import Glibc

/// What the daemon tells systemd about itself (sd_notify(3)). Without a service manager, that is
/// without NOTIFY_SOCKET, every call does nothing. Any thread; a call is one datagram.
///
/// It is told, never asked: a message that cannot be sent is not an error of the daemon's.
package struct ServiceManager: Sendable {
    /// How often systemd wants a `watchdog()`, as WatchdogSec= says; nil: it does not. Send at
    /// half of it, and only while every thread makes progress.
    package let watchdogInterval: Duration?

    private let clock: any Clock

    package init(clock: any Clock = SystemClock()) {
        self.clock = clock
        var microseconds: UInt64 = 0
        let enabled = unsafe sd_watchdog_enabled(0, &microseconds) > 0
        watchdogInterval = enabled && microseconds > 0 ? .microseconds(Int64(clamping: microseconds)) : nil
    }

    /// The journal is recovered and the sockets serve; also the end of a reload, whether the new
    /// configuration was taken or not.
    package func ready(_ status: String) {
        send("READY=1\nSTATUS=\(status.withControlCharactersEscaped)")
    }

    /// One sentence that `systemctl status` shows.
    package func status(_ status: String) {
        send("STATUS=\(status.withControlCharactersEscaped)")
    }

    /// A reload begins; `ready` ends it. The monotonic time tells systemd which of several
    /// reloads is meant.
    package func reloading() {
        send("RELOADING=1\nMONOTONIC_USEC=\(clock.now().nanoseconds / 1000)")
    }

    /// The start has failed, and the process is about to end. Returns when systemd has the sentence, which it shows until the
    /// next start.
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

    /// Start, stop or reload goes on and needs `time` from now: systemd waits at least that long.
    package func extendTimeout(by time: Duration) {
        send("EXTEND_TIMEOUT_USEC=\(max(time.inNanoseconds / 1000, 1))")
    }

    private func send(_ state: String) {
        _ = unsafe sd_notify(0, state)
    }
}
