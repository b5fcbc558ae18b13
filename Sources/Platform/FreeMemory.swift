import CLinux

/// The memory that the process has allocated and does not use.
package enum FreeMemory {
    /// Gives it back to the system. An allocator keeps what was freed below something that is still in use; after a
    /// burst that can be most of it. Takes up to a few milliseconds, during which other threads may wait for memory.
    package static func giveBack() { clinux_trim() }
}
