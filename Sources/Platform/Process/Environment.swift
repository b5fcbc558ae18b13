import Glibc

/// The process's environment variables. Any thread, as long as nobody changes them.
package enum Environment {
    /// - Returns: nil if the variable is not set.
    package static func value(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }
}
