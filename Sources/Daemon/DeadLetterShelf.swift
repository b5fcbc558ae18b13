import Seams

/// The dead-letter files that somebody still uses: a destination, or a request about it that is under way. A
/// destination that leaves the configuration and comes back gets the same one then, since two stores on one directory
/// would not know of each other's changes. Main thread.
final class DeadLetterShelf {
    private struct Place {
        weak var file: DeadLetterFile?
    }

    private var places: [String: Place] = [:]

    /// - Parameter open: makes the file if nobody has it.
    func file(of destination: String, open: () throws -> DeadLetterFile) rethrows -> DeadLetterFile {
        if let file = places[destination]?.file { return file }
        let file = try open()
        places = places.filter { $0.value.file != nil }
        places[destination] = Place(file: file)
        return file
    }
}
