import Delivery
import Platform

// What can be said of a file destination without running it: for `penstock check`, `explain` and `test`.
extension FileDestination {
    /// Throws what `init` would throw for these options; touches nothing.
    package static func validate(_ options: FileDestinationOptions) throws {
        _ = try BatchDivision(options)
    }

    /// The path that a batch's first event goes to, and what is written for all of them.
    package static func preview(
        of batch: OutboundBatch, _ options: FileDestinationOptions
    ) throws -> (path: String, lines: [[UInt8]]) {
        let division = try BatchDivision(options)
        guard !batch.events.isEmpty else { return ("", []) }
        let (shares, _) = try division.divide(batch, from: 0, room: { _, _ in .max }, admit: { path, _ in path })
        let path = shares.first?.path ?? ""
        guard case .csv(let columns) = options.format else {
            return (path, batch.events.map { Array(batch.payload[$0.payload]) })
        }
        let rows = CSVRows(columns)
        var lines = [Array(rows.header.dropLast())]
        for event in batch.events {
            var row: [UInt8] = []
            rows.append(batch.payload.span.extracting(event.payload), to: &row)
            lines.append(row.dropLast())
        }
        return (path, lines)
    }

    /// What keeps files from being made where they are to be, as far as whoever asks may know; nil: nothing.
    package static func obstacle(_ options: FileDestinationOptions, _ disk: SystemDisk) -> DiskObstacle? {
        let pattern = PathPattern(options.path)
        if let path = pattern.path, (try? disk.status(path))??.isDirectory == true {
            return .inTheWay("\(path) is a directory")
        }
        return DiskObstacle(makingFilesIn: "/" + pattern.fixed.joined(separator: "/"), disk)
    }
}

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
