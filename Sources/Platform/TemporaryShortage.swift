import Glibc

extension SystemError {
    /// The filesystem, or somebody's quota on it, is full: it goes away when something is removed.
    package var isOutOfSpace: Bool { code == ENOSPC || code == EDQUOT }

    /// The process or the system has too many files open. The condition ends when one is closed.
    package var isOutOfDescriptors: Bool { code == EMFILE || code == ENFILE }

    /// For a write that is not even tried, because there is no room for it.
    package static func outOfSpace(_ call: String, _ subject: String) -> SystemError {
        SystemError(call, subject, code: ENOSPC)
    }
}
