/// What a file destination cannot go on with, in words for the operator.
struct FileDestinationError: Error, Equatable, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
