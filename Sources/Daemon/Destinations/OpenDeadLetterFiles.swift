import JournalAdapters

/// The dead-letter files in use, by destination. A destination or a running request holds its file. A destination that
/// is removed and added again gets the same file while it is still in use, because two stores on one directory would
/// not see each other's changes. Main thread only.
final class OpenDeadLetterFiles {
    private struct Place {
        weak var file: DeadLetterFile?
    }

    private var places: [String: Place] = [:]

    /// - Parameter open: opens the file; called only if it is not in use.
    func file(of destination: String, open: () throws -> DeadLetterFile) rethrows -> DeadLetterFile {
        if let file = places[destination]?.file { return file }
        let file = try open()
        places = places.filter { $0.value.file != nil }
        places[destination] = Place(file: file)
        return file
    }
}
