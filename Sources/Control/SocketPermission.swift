import Foundation
import Platform

/// Who may open a socket, for the error of somebody who may not.
enum SocketPermission {
    /// A clause: `only user penstock may open it (mode 0600)`, or the same of a directory on the way to it.
    static func clause(of socket: String) -> String {
        var directory = ""
        for component in (socket as NSString).deletingLastPathComponent.split(separator: "/") {
            directory += (directory.isEmpty && !socket.hasPrefix("/") ? "" : "/") + component
            if !FileManager.default.isExecutableFile(atPath: directory) {
                return who(directory, bit: 0o010).map { "\($0) may enter \(directory)" } ?? "\(directory) may not be entered"
            }
        }
        return who(socket, bit: 0o020).map { "\($0) may open it" } ?? "its permissions cannot be read"
    }

    /// - Parameter bit: the group's permission that counts.
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
