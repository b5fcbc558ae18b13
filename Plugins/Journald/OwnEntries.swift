import Glibc

/// Recognises what Penstock itself writes to the journal. Read in again, each such line could cause the next one.
///
/// - Entries of the plugin's journald destination have PENSTOCK_POSITION, on every machine.
/// - The daemon and its children, on this machine: the systemd service that this process belongs to, or the names of
///   their programs, which journald takes from the kernel.
struct OwnEntries {
    /// The kernel keeps 15 bytes of a program's name.
    private static let programs = ["penstockd", "penstock-plugin"]

    private let machine: [String]
    private let service: [String]

    init() {
        machine = Self.read("/etc/machine-id").split(separator: "\n").prefix(1).map(String.init)
        service = Self.service(Self.read("/proc/self/cgroup")).map { [$0] } ?? []
    }

    func contains(_ entry: LogEntry) -> Bool {
        if entry.has("PENSTOCK_POSITION") { return true }
        guard entry.has("_MACHINE_ID", anyOf: machine) else { return false }
        return entry.has("_COMM", anyOf: Self.programs) || entry.has("_SYSTEMD_UNIT", anyOf: service)
            || entry.has("_SYSTEMD_USER_UNIT", anyOf: service)
    }

    /// The innermost service of a control group. A user's manager is none: it contains all of the user's programs.
    static func service(_ groups: String) -> String? {
        let path = groups.split(separator: "\n").last { $0.hasPrefix("0::") || $0.contains("name=systemd") } ?? ""
        return path.split(separator: "/").last { $0.hasSuffix(".service") && !$0.hasPrefix("user@") }.map(String.init)
    }

    /// The first 4 KiB.
    private static func read(_ path: String) -> String {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe Glibc.read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
