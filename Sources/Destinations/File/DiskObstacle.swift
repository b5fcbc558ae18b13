import Platform

/// The reason why files can't be created.
package enum DiskObstacle: Sendable, Equatable {
    /// No user can create them.
    case inTheWay(String)
    /// The current user can't create them; the daemon's user perhaps can.
    case notForUs(String)

    /// The hint for `inTheWay`.
    package static let hint = "choose another path, or move away what is there"

    /// - Parameter directory: need not exist.
    package init?(makingFilesIn directory: String, _ disk: SystemDisk) {
        var place = directory
        do {
            while true {
                if let status = try disk.status(place) {
                    if !status.isDirectory {
                        self = .inTheWay("\(place) is no directory")
                    } else if disk.isReadOnly(place) {
                        self = .inTheWay(SystemError.readOnly("open", place).description)
                    } else if !disk.mayWrite(in: place) {
                        self = .notForUs(
                            "the user who runs this check cannot create files in \(place);"
                                + " the daemon's user must be able to")
                    } else {
                        return nil
                    }
                    return
                }
                guard place != "/" else { return nil }
                place = Destinations.directory(of: place)
            }
        } catch {
            self = .notForUs("\(error): the user who runs this check cannot create files there")
        }
    }
}
