import CLinux

extension RawSpan {
    /// Asks the processor to bring these bytes near: they will be read soon. Those behind the end are left out.
    @inline(__always)
    package func prefetch(from start: Int, count: Int) {
        let begin = min(max(start, 0), byteCount)
        let bytes = max(0, min(count, byteCount - begin))
        unsafe withUnsafeBytes { memory in
            guard let base = memory.baseAddress else { return }
            unsafe clinux_prefetch(base + begin, bytes)
        }
    }
}
