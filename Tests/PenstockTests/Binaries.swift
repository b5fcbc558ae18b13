import Foundation

/// The directory of the build's products.
enum Binaries {
    static let directory: String = {
        let runner = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (runner as NSString).deletingLastPathComponent
    }()
}
