import Glibc

/// A time of CLOCK_MONOTONIC, in nanoseconds.
struct Deadline {
    var nanoseconds: Int64

    static var now: Deadline {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Deadline(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func after(milliseconds: Int64) -> Deadline {
        Deadline(nanoseconds: now.nanoseconds + milliseconds * 1_000_000)
    }

    /// Rounded up; 0: it has passed.
    var millisecondsLeft: Int32 {
        let left = nanoseconds - Self.now.nanoseconds
        return left <= 0 ? 0 : Int32(clamping: (left + 999_999) / 1_000_000)
    }
}
