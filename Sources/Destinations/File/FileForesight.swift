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

    /// What keeps files from being made where they are to be, as far as whoever asks may know; nil: nothing.
    package static func obstacle(_ options: FileDestinationOptions, _ disk: SystemDisk) -> DiskObstacle? {
        let pattern = PathPattern(options.path)
        if let path = pattern.path, (try? disk.status(path))??.isDirectory == true {
            return .inTheWay("\(path) is a directory")
        }
        return DiskObstacle(makingFilesIn: fixedDirectory(options), disk)
    }

    /// The innermost directory that all files of the destination lie below.
    package static func fixedDirectory(_ options: FileDestinationOptions) -> String {
        "/" + PathPattern(options.path).fixed.joined(separator: "/")
    }
}
