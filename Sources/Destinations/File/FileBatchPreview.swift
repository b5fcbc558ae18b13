import Delivery
import Platform

/// A file, and the lines that would be appended to it.
package struct FileBatchPreview: Sendable, Equatable {
    package var path: String
    /// Without line feeds. In a CSV file, the first line is the header.
    package var lines: [[UInt8]] = []
    package var isCSV = false
}

// Properties of a file destination that need no running destination: for `penstock check`, `explain` and `test`.
extension FileDestination {
    /// Throws the error that `init` would throw for these options. Doesn't touch the disk.
    package static func validate(_ options: FileDestinationOptions) throws {
        _ = try BatchDivision(options)
    }

    /// The files that a batch is written to, in the order of their first events, as if all were new.
    package static func preview(of batch: OutboundBatch, _ options: FileDestinationOptions) throws -> [FileBatchPreview]
    {
        let division = try BatchDivision(options)
        let header = division.header.isEmpty ? [] : [Array(division.header.dropLast())]
        var files: [FileBatchPreview] = []
        // Divided event by event, to get each event's output.
        for event in batch.events {
            var single = OutboundBatch()
            single.append(event, from: batch)
            let (shares, _) = try division.divide(single, from: 0, room: { _, _ in .max }, admit: { path, _ in path })
            for share in shares {
                let bytes = share.slice.map { single.payload[$0] } ?? share.bytes[...]
                let place = files.firstIndex { $0.path == share.path } ?? files.count
                if place == files.count {
                    files.append(FileBatchPreview(path: share.path, lines: header, isCSV: !header.isEmpty))
                }
                files[place].lines.append(Array(bytes.dropLast()))
            }
        }
        return files
    }

    /// The reason why files can't be created at the configured place, as far as the current user can tell; nil: none.
    package static func obstacle(_ options: FileDestinationOptions, _ disk: SystemDisk) -> DiskObstacle? {
        let pattern = PathPattern(options.path)
        if let path = pattern.path, (try? disk.status(path))??.isDirectory == true {
            return .inTheWay("\(path) is a directory")
        }
        return DiskObstacle(makingFilesIn: fixedDirectory(options), disk)
    }

    /// The innermost directory that contains all files of the destination.
    package static func fixedDirectory(_ options: FileDestinationOptions) -> String {
        "/" + PathPattern(options.path).fixed.joined(separator: "/")
    }
}
