import Delivery
import Platform

/// A file, and what would be written to its end.
package struct FileForesight: Sendable, Equatable {
    package var path: String
    /// Without their line feeds; those of CSV begin with the header.
    package var lines: [[UInt8]] = []
    package var isCSV = false
}

// What can be said of a file destination without running it: for `penstock check`, `explain` and `test`.
extension FileDestination {
    /// Throws what `init` would throw for these options; touches nothing.
    package static func validate(_ options: FileDestinationOptions) throws {
        _ = try BatchDivision(options)
    }

    /// The files that a batch goes to, as if all were new, in the order of their first events.
    package static func preview(of batch: OutboundBatch, _ options: FileDestinationOptions) throws -> [FileForesight] {
        let division = try BatchDivision(options)
        let header = division.header.isEmpty ? [] : [Array(division.header.dropLast())]
        var files: [FileForesight] = []
        // One by one: it is told what each event comes to.
        for event in batch.events {
            var single = OutboundBatch()
            single.append(event, from: batch)
            let (shares, _) = try division.divide(single, from: 0, room: { _, _ in .max }, admit: { path, _ in path })
            for share in shares {
                let bytes = share.slice.map { single.payload[$0] } ?? share.bytes[...]
                let place = files.firstIndex { $0.path == share.path } ?? files.count
                if place == files.count { files.append(FileForesight(path: share.path, lines: header, isCSV: !header.isEmpty)) }
                files[place].lines.append(Array(bytes.dropLast()))
            }
        }
        return files
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
