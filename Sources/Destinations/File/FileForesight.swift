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

    /// Pairs of destinations whose templates can come to one path. Where it cannot be told, they can.
    package static func meetings(among files: [(name: String, options: FileDestinationOptions)]) -> [(String, String)] {
        let patterns = files.map { (name: $0.name, pattern: PathPattern($0.options.path)) }
        return patterns.indices.flatMap { second in
            patterns[..<second].filter { $0.pattern.meets(patterns[second].pattern) }.map { ($0.name, patterns[second].name) }
        }
    }

    /// Why files cannot be made where they are to be, as far as whoever asks may know; nil: they can.
    package static func unwritable(_ options: FileDestinationOptions, _ disk: SystemDisk) -> String? {
        var place = "/" + PathPattern(options.path).fixed.joined(separator: "/")
        do {
            while true {
                if let status = try disk.status(place) {
                    guard status.isDirectory else { return "\(place) is no directory: choose another path" }
                    return disk.mayWrite(in: place)
                        ? nil : "no file can be made in \(place) by the user who runs this check; the daemon's user has to be able to"
                }
                guard place != "/" else { return nil }
                place = directory(of: place)
            }
        } catch {
            return "\(error): no file can be made there by the user who runs this check"
        }
    }
}
