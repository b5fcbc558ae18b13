/// An error whose text is all that the user needs.
struct ReportedError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
