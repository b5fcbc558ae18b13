/// The checkout that these tests were built from.
enum Repository {
    static let root = String(#filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 })
}
