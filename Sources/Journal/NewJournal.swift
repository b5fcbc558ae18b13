import Glibc
import Platform

// How a journal begins.
extension JournalSite {
    /// Makes the manifest of a journal that begins here.
    /// - Parameter names: of the files that are there.
    func makeManifest(besides names: [String]) throws(JournalError) -> Manifest {
        if let stray = names.sorted().first(where: {
            Segment.position(ofName: $0) != nil || $0 == CursorFile.name || $0 == LiveCursorFile.name || $0 == DeadLetterStore.directory
        }) {
            throw JournalError(
                .inconsistent,
                "journal: \(directory) has \(stray), but no manifest: restore the file `\(Manifest.name)`, or move the"
                    + " directory away to start an empty journal")
        }
        let manifest = Manifest(uuid: uuid)
        try journal("write the manifest") { () throws(SystemError) in
            // A directory is there after a power cut only once the one above it was synced; a manifest says
            // that this was done.
            var above = directory[...]
            while let slash = above.lastIndex(of: "/") {
                above = above[..<slash]
                try syncAbove(above.isEmpty ? "/" : String(above))
            }
            try replace(Manifest.name, with: manifest.encoded, .manifestSync, .manifestDirectorySync)
        }
        return manifest
    }

    private func syncAbove(_ path: String) throws(SystemError) {
        do throws(SystemError) {
            try syncDirectory(path, .parentDirectorySync)
        } catch {
            // One that may not be read, or is no place of files, was there before.
            guard [EACCES, EINVAL, EROFS].contains(error.code) else { throw error }
        }
    }
}
