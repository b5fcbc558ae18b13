import Glibc
import Platform

/// What keeps files from being made.
package enum DiskObstacle: Sendable, Equatable {
    /// Nobody can make them.
    case inTheWay(String)
    /// The user who asks cannot; the daemon's may be another.
    case notForUs(String)

    /// What is to be done about what is in the way.
    package static let hint = "choose another path, or move away what is there"

    /// - Parameter directory: it need not be there.
    package init?(makingFilesIn directory: String, _ disk: SystemDisk) {
        var place = directory
        do {
            while true {
                if let status = try disk.status(place) {
                    if !status.isDirectory {
                        self = .inTheWay("\(place) is no directory")
                    } else if disk.isReadOnly(place) {
                        self = .inTheWay(SystemError("open", place, code: EROFS).description)
                    } else if !disk.mayWrite(in: place) {
                        self = .notForUs(
                            "no file can be made in \(place) by the user who runs this check; the daemon's user has to be able to")
                    } else {
                        return nil
                    }
                    return
                }
                guard place != "/" else { return nil }
                place = Destinations.directory(of: place)
            }
        } catch {
            self = .notForUs("\(error): no file can be made there by the user who runs this check")
        }
    }
}
