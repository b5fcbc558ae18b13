/// An error whose text is printed as it is.
struct ReportedError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
