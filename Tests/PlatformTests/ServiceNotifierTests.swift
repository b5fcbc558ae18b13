import Foundation
import Glibc
import Platform
import Testing

@Suite struct ServiceNotifierTests {
    struct FixedClock: Clock {
        func now() -> Instant { Instant(nanoseconds: 5_000_000) }
        func wallClock() -> Int64 { 0 }
    }

    // These tests run in processes of their own because they change the environment.

    @Test func `each state is sent to systemd in its format, and a status text cannot add a line`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let receiver = try DatagramReceiver(path: directory.file("notify"))
            unsafe setenv("NOTIFY_SOCKET", directory.file("notify"), 1)
            let manager = ServiceNotifier(clock: FixedClock())
            manager.ready("12,300 events/s")
            #expect(receiver.next() == "READY=1\nSTATUS=12,300 events/s")
            manager.status("HTTP 503\nREADY=0")
            #expect(receiver.next() == "STATUS=HTTP 503\\nREADY=0")
            manager.reloading()
            #expect(receiver.next() == "RELOADING=1\nMONOTONIC_USEC=5000")
            manager.watchdog()
            #expect(receiver.next() == "WATCHDOG=1")
            manager.extendTimeout(by: .seconds(2))
            #expect(receiver.next() == "EXTEND_TIMEOUT_USEC=2000000")
            manager.stopping("draining")
            #expect(receiver.next() == "STOPPING=1\nSTATUS=draining")
            unsafe unsetenv("NOTIFY_SOCKET")
            manager.watchdog()
            #expect(receiver.next() == nil)
        }
    }

    @Test func `the watchdog interval is the one that systemd set`() async {
        await #expect(processExitsWith: .success) {
            unsafe unsetenv("WATCHDOG_USEC")
            unsafe unsetenv("WATCHDOG_PID")
            #expect(ServiceNotifier().watchdogInterval == nil)
            unsafe setenv("WATCHDOG_USEC", "30000000", 1)
            #expect(ServiceNotifier().watchdogInterval == .seconds(30))
            unsafe setenv("WATCHDOG_PID", "1", 1)
            #expect(ServiceNotifier().watchdogInterval == nil)
        }
    }
}

/// A datagram socket that receives notifications, as systemd's does.
final class DatagramReceiver {
    let descriptor: FileDescriptor

    init(path: String) throws {
        // SOCK_DGRAM is 2 in Linux's ABI. CLinux explains why the constant is not used.
        let number = socket(AF_UNIX, 2, 0)
        guard number >= 0 else { throw SystemError("socket") }
        descriptor = FileDescriptor(owning: number)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0 else { throw SystemError("bind", path) }
    }

    /// The next message that was received and not read yet. nil: no message.
    func next() -> String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe recv(descriptor.raw, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
