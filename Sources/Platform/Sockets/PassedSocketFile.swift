import Glibc

/// The file of a socket that systemd created for the daemon: its path, and who may connect.
package struct PassedSocketFile: Sendable, Equatable {
    package var path: String
    /// Permission bits; nil if unknown.
    package var mode: UInt32?
    /// The group's name, or its id if it has no name; nil if unknown.
    package var group: String?

    package init(path: String, mode: UInt32?, group: String?) {
        self.path = path
        self.mode = mode
        self.group = group
    }

    /// Reads mode and group from the socket file at `path`.
    init(lookingAt path: String) {
        self.init(path: path, mode: nil, group: nil)
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        mode = status.st_mode & 0o777
        group = Accounts.groupName(of: status.st_gid) ?? "\(status.st_gid)"
    }
}
