import Glibc

/// How many descriptors the process may have open (RLIMIT_NOFILE).
package enum OpenFileLimit {
    /// Raises the soft limit to the hard one: a connection is a descriptor, and the soft limit
    /// is low only for programs that still use select(2).
    /// - Returns: the limit that holds now.
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
}
