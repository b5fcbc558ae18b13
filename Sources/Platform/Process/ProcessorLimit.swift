import CLinux

/// The processors that this process may use.
package enum ProcessorLimit {
    /// How many: those that its affinity permits, or fewer where its cgroup, or one above it, has a quota of processor
    /// time (systemd's `CPUQuota=`, a container's limit). 0.5 is half of one. Reads small files of the kernel.
    package static var current: Double {
        let memberships = (try? FileDescriptor.openForReading("/proc/self/cgroup").read(upTo: 16384)) ?? []
        let quota = Self.quota(below: "/sys/fs/cgroup", memberships: String(decoding: memberships, as: UTF8.self))
        return min(Double(clinux_processors()), quota ?? .infinity)
    }

    /// The smallest quota of the cgroups.
    /// - Parameters:
    ///   - root: where cgroups are mounted: version 2, or a directory for each controller of version 1.
    ///   - memberships: the content of /proc/self/cgroup (cgroups(7)).
    /// - Returns: processors; nil: no quota.
    static func quota(below root: String, memberships: String) -> Double? {
        memberships.split(separator: "\n").compactMap { line -> Double? in
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { return nil }
            if fields[1].isEmpty { return smallest(from: fields[2], below: root, Self.unified) }
            guard fields[1].split(separator: ",").contains("cpu") else { return nil }
            return smallest(from: fields[2], below: "\(root)/cpu", Self.legacy)
        }.min()
    }

    /// In a container, the path may be one of the host, of which only the root is visible.
    private static func smallest(from path: Substring, below root: String, _ read: (String) -> Double?) -> Double? {
        var names = path.split(separator: "/")
        if names.contains("..") { names = [] }
        var quotas = [read(root)]
        while !names.isEmpty {
            quotas.append(read("\(root)/\(names.joined(separator: "/"))"))
            names.removeLast()
        }
        return quotas.compactMap(\.self).min()
    }

    /// Version 2: `cpu.max` holds quota and period, in microseconds, or "max" and the period.
    private static func unified(_ group: String) -> Double? {
        let fields = content(of: "\(group)/cpu.max").split(separator: " ")
        return fields.count == 2 ? share(fields[0], of: fields[1]) : nil
    }

    /// Version 1: a file for each, and -1 for no quota.
    private static func legacy(_ group: String) -> Double? {
        share(content(of: "\(group)/cpu.cfs_quota_us")[...], of: content(of: "\(group)/cpu.cfs_period_us")[...])
    }

    private static func share(_ quota: Substring, of period: Substring) -> Double? {
        guard let quota = Int64(quota), let period = Int64(period), quota > 0, period > 0 else { return nil }
        return Double(quota) / Double(period)
    }

    /// A file's line; empty if it cannot be read.
    private static func content(of path: String) -> String {
        let bytes = (try? FileDescriptor.openForReading(path).read(upTo: 128)) ?? []
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
