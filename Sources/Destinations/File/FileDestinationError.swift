/// An error that stops a file destination, worded for the operator. A hint follows the last "; ".
struct FileDestinationError: Error, Equatable, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
