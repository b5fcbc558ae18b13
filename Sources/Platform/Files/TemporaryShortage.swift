import Glibc

extension SystemError {
    /// The filesystem is full, or a disk quota is used up. The condition ends when files are removed.
    package var isOutOfSpace: Bool { code == ENOSPC || code == EDQUOT }

    /// The process or the system has too many open files. The condition ends when one is closed.
    package var isOutOfDescriptors: Bool { code == EMFILE || code == ENFILE }

    /// The error for a write that is not attempted because there is no space for it.
    package static func outOfSpace(_ call: String, _ subject: String) -> SystemError {
        SystemError(call, subject, code: ENOSPC)
    }
}
