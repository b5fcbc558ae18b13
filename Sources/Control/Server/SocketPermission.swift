import Foundation
import Platform

/// Explains who may open a socket, for the error when permission is denied.
enum SocketPermission {
    /// A clause such as `only user penstock may open it`, or the equivalent for a directory on the path.
    static func clause(of socket: String) -> String {
        var directory = ""
        for component in (socket as NSString).deletingLastPathComponent.split(separator: "/") {
            directory += (directory.isEmpty && !socket.hasPrefix("/") ? "" : "/") + component
            if !FileManager.default.isExecutableFile(atPath: directory) {
                return who(directory, bit: 0o010).map { "\($0) may enter \(directory)" }
                    ?? "you do not have permission to enter \(directory)"
            }
        }
        return who(socket, bit: 0o020).map { "\($0) may open it" } ?? "its permissions cannot be read"
    }

    /// - Parameter bit: the permission bit of the group to check.
    private static func who(_ path: String, bit: Int) -> String? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let mode = attributes[.posixPermissions] as? Int
        else { return nil }
        func name(_ key: FileAttributeKey, _ id: FileAttributeKey) -> String {
            if let name = attributes[key] as? String, !name.isEmpty { return name.withControlCharactersEscaped }
            return (attributes[id] as? NSNumber)?.stringValue ?? "?"
        }
        var who = "only user \(name(.ownerAccountName, .ownerAccountID))"
        if mode & bit != 0 { who += " and members of group \(name(.groupOwnerAccountName, .groupOwnerAccountID))" }
        return who
    }
}
