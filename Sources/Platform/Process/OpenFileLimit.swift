import Glibc

/// The process's limit of open file descriptors (RLIMIT_NOFILE).
package enum OpenFileLimit {
    /// Raises the soft limit to the hard limit. Every connection needs a descriptor, and the soft limit is low only for
    /// programs that still use select(2).
    /// - Returns: the limit that is now in effect.
    @discardableResult
    package static func raise() throws(SystemError) -> UInt64 {
        let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard unsafe getrlimit(files, &limit) == 0 else { throw SystemError("getrlimit", "RLIMIT_NOFILE") }
        guard limit.rlim_cur < limit.rlim_max else { return UInt64(limit.rlim_cur) }
        limit.rlim_cur = limit.rlim_max
        guard unsafe setrlimit(files, &limit) == 0 else { throw SystemError("setrlimit", "RLIMIT_NOFILE") }
        return UInt64(limit.rlim_cur)
    }
    /// The current limit; nil if the system does not provide it.
    package static var current: Int? {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return Int(clamping: limit.rlim_cur)
    }

    /// How many descriptors the process has open; nil if the system does not provide it. Fast since Linux 6.2; before
    /// that, about a millisecond for 5,000 descriptors.
    package static var openFiles: Int? {
        var status = stat()
        if unsafe stat("/proc/self/fd", &status) == 0, status.st_size > 0 { return Int(status.st_size) }
        guard let directory = unsafe opendir("/proc/self/fd") else { return nil }
        defer { unsafe closedir(directory) }
        var count = 0
        while unsafe readdir(directory) != nil { count += 1 }
        // Do not count ".", ".." and the descriptor of the directory itself.
        return max(0, count - 3)
    }
}
