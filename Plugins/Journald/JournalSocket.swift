import Glibc

/// journald's socket for entries with fields.
enum JournalSocket {
    private static let path = "/run/systemd/journal/socket"

    /// Whether the socket exists and is open. systemd keeps it open while journald restarts.
    static var problem: String? {
        let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return unsafe String(cString: strerror(errno)) }
        defer { close(socket) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let status = unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return status == 0 ? nil : unsafe "\(path): \(String(cString: strerror(errno)))"
    }
}
