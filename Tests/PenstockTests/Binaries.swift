import Foundation

/// Where the build has put what it made.
enum Binaries {
    static let directory: String = {
        let runner = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (runner as NSString).deletingLastPathComponent
    }()
}
