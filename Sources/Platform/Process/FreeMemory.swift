import CLinux

/// Memory that the process has freed but not returned to the system.
package enum FreeMemory {
    /// Returns it to the system. The allocator keeps freed memory that lies below memory still in use; after a burst,
    /// that can be most of it. Takes up to a few milliseconds, during which other threads may wait for the allocator.
    package static func giveBack() { clinux_trim() }

    /// Bounds the free memory that `giveBack` does not reach, about 1 MiB for each thread. Call it before other threads
    /// start.
    package static func bound() { clinux_bound_free_memory() }
}
