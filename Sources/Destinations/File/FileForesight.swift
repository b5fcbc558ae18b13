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
