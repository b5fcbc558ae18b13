import Platform

// The first start of a journal.
extension JournalContext {
    /// Writes the manifest of a new journal.
    /// - Parameter names: the files in the directory.
    func makeManifest(besides names: [String]) throws(JournalError) -> Manifest {
        if let stray = names.sorted().first(where: {
            Segment.position(ofName: $0) != nil || $0 == CursorFile.name
                || LiveCursorFile.number(ofName: $0) != nil || $0 == DeadLetterStore.directory
        }) {
            throw JournalError(
                .inconsistent,
                "journal: \(directory) has \(stray), but no manifest: restore the file `\(Manifest.name)`, or move the"
                    + " directory away to start an empty journal")
        }
        let manifest = Manifest(uuid: uuid)
        try journal("write the manifest") { () throws(SystemError) in
            // A directory survives a power cut only after its parent was synced. The manifest is written last, so its
            // presence shows that this was done.
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
            // A directory that this process cannot read or sync existed before.
            guard error.isForbidden || error.isUnsupported else { throw error }
        }
    }
}
