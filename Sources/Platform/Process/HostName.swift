import Glibc

/// The name of this machine: gethostname(2), which queries no name service.
package enum HostName {
    package static var current: String {
        // POSIX allows 255 bytes, Linux 64.
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
