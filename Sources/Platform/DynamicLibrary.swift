import Glibc

/// A shared library in this process (dlopen(3)). It is never unloaded: unloading a Swift library leaves conformance
/// caches behind that point into it. Any thread.
@safe package struct DynamicLibrary: @unchecked Sendable {
    private let handle: UnsafeMutableRawPointer

    package struct LoadError: Error, Sendable {
        /// The loader's own words.
        package var reason: String
    }

    /// Loads the library that an open descriptor refers to. This is exactly the file that was checked, even if its path
    /// refers to another file now.
    /// - Parameter descriptor: stays open as long as the process.
    package init(openedAs descriptor: Int32) throws(LoadError) {
        guard let handle = unsafe dlopen("/proc/self/fd/\(descriptor)", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
            throw LoadError(reason: Self.reason())
        }
        unsafe self.handle = handle
    }

    /// - Returns: the symbol's address; nil if the library does not export it.
    package func symbol(_ name: String) -> UnsafeMutableRawPointer? { unsafe dlsym(handle, name) }

    /// The loader's message without the descriptor's path, which tells an operator nothing.
    private static func reason() -> String {
        guard let text = unsafe dlerror() else { return "the loader gives no reason" }
        let reason = unsafe String(cString: text)
        guard reason.hasPrefix("/proc/self/fd/"), let colon = reason.firstIndex(of: ":") else { return reason }
        return String(reason[colon...].drop { $0 == ":" || $0 == " " })
    }
}
