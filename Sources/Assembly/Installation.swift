import Foundation

/// Where this program is installed.
package enum Installation {
    /// The default of `plugins.directories`: `PREFIX/lib/penstock/plugins` of the running program, as `make install`
    /// lays it out.
    package static var pluginDirectories: [String] {
        guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
            return ["/usr/lib/penstock/plugins"]
        }
        let prefix = Path.directory(of: Path.directory(of: program))
        return [prefix == "/" ? "/lib/penstock/plugins" : prefix + "/lib/penstock/plugins"]
    }
}
