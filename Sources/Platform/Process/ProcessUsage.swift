import Glibc

/// What this process uses of the machine.
package struct ProcessUsage: Sendable, Equatable {
    /// Processor time of all threads since the start, in user and in kernel mode.
    package var processorSeconds: Double
    /// Bytes of memory in RAM, and of address space.
    package var residentBytes: UInt64
    package var virtualBytes: UInt64
    /// nil: the system does not tell.
    package var openFiles: Int?
    package var maximumOpenFiles: Int?

    /// Processor time of all threads since the start.
    package static var processorTime: Duration { .nanoseconds(SystemClock.read(CLOCK_PROCESS_CPUTIME_ID)) }

    /// nil: the system does not tell.
    package static var current: ProcessUsage? {
        var usage = rusage()
        guard unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0,
            let statm = try? FileDescriptor.openForReading("/proc/self/statm").read(upTo: 256)
        else { return nil }
        // In pages: the total program size, then the resident set size (proc_pid_statm(5)).
        let pages = String(decoding: statm, as: UTF8.self).split(separator: " ").prefix(2).compactMap { UInt64($0) }
        guard pages.count == 2 else { return nil }
        let page = UInt64(clamping: sysconf(Int32(_SC_PAGESIZE)))
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return ProcessUsage(
            processorSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime), residentBytes: pages[1] &* page,
            virtualBytes: pages[0] &* page, openFiles: OpenFileLimit.openFiles,
            maximumOpenFiles: OpenFileLimit.current)
    }
}
