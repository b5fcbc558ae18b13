import Glibc
import Platform
import Synchronization

/// Files in memory. They are cheap to copy, so each case of damage starts with its own image. The image loses nothing
/// and never fails; the simulation covers such faults.
package final class DiskImage: Disk {
    private struct Entry {
        var bytes: [UInt8] = []
        var isDirectory = false
    }

    private let entries: Mutex<[String: Entry]>

    package init() { entries = Mutex([:]) }

    private init(_ copy: [String: Entry]) { entries = Mutex(copy) }

    package func copy() -> DiskImage { DiskImage(entries.withLock { $0 }) }

    /// The paths of all files.
    package var paths: [String] { entries.withLock { $0.filter { !$0.value.isDirectory }.keys.sorted() } }

    /// The file's bytes; nil: no such file. Setting nil removes the file.
    package subscript(path: String) -> [UInt8]? {
        get { entries.withLock { $0[path]?.bytes } }
        set { entries.withLock { $0[path] = newValue.map { Entry(bytes: $0) } } }
    }

    package func change(_ path: String, _ body: (inout [UInt8]) -> Void) {
        entries.withLock { body(&$0[path, default: Entry()].bytes) }
    }

    package func open(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile {
        let code: Int32 = entries.withLock { entries in
            if entries[path] != nil { return mode == .createNew ? EEXIST : 0 }
            guard mode == .createNew || mode == .createOrReadWrite else { return ENOENT }
            entries[path] = Entry()
            return 0
        }
        if code != 0 { throw SystemError("open", path, code: code) }
        return OpenFile(self, path)
    }

    package func list(_ directory: String) throws(SystemError) -> [String] {
        let prefix = directory + "/"
        return entries.withLock { entries in
            entries.keys.filter { $0.hasPrefix(prefix) }.map { $0.dropFirst(prefix.count) }
                .filter { !$0.contains("/") }.map(String.init)
        }
    }

    package func status(_ path: String) throws(SystemError) -> DiskStatus? {
        entries.withLock { $0[path] }.map {
            DiskStatus(size: $0.bytes.count, isDirectory: $0.isDirectory)
        }
    }

    package func modificationTime(_ path: String) throws(SystemError) -> Int64? { nil }

    package func makeDirectory(_ path: String, permissions: UInt32) throws(SystemError) {
        entries.withLock { entries in
            var path = path
            while !path.isEmpty, entries[path] == nil {
                entries[path] = Entry(isDirectory: true)
                path = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
            }
        }
    }

    package func rename(_ from: String, to: String) throws(SystemError) {
        let isThere = entries.withLock { entries in
            guard let entry = entries.removeValue(forKey: from) else { return false }
            entries[to] = entry
            return true
        }
        if !isThere { throw SystemError("rename", from, code: ENOENT) }
    }

    package func remove(_ path: String) throws(SystemError) { entries.withLock { $0[path] = nil } }

    package func syncDirectory(_ path: String) throws(SystemError) {}

    package func freeSpace(_ path: String) throws(SystemError) -> Int { 1 << 40 }
}

/// A file that is identified by its path: no open file is renamed and used afterwards here.
private final class OpenFile: DiskFile {
    let path: String
    private let disk: DiskImage

    init(_ disk: DiskImage, _ path: String) {
        self.disk = disk
        self.path = path
    }

    func size() throws(SystemError) -> Int { disk[path]?.count ?? 0 }

    func read(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) throws(SystemError) -> Int {
        guard let all = disk[path], offset < all.count else { return 0 }
        let end = min(all.count, offset + count)
        bytes.append(contentsOf: all[offset..<end])
        return end - offset
    }

    func write(_ bytes: Span<UInt8>, at offset: Int) throws(SystemError) {
        disk.change(path) { all in
            let missing = offset + bytes.count - all.count
            if missing > 0 { all.append(contentsOf: repeatElement(0, count: missing)) }
            for index in bytes.indices { all[offset + index] = bytes[index] }
        }
    }

    func sync() throws(SystemError) {}

    func truncate(to size: Int) throws(SystemError) {
        disk.change(path) { $0 = Array($0.prefix(size)) + repeatElement(0, count: max(0, size - $0.count)) }
    }

    func tryLock() throws(SystemError) -> Bool { true }
}
