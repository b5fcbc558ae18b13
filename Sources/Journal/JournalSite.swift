import Platform
import Synchronization
import Telemetry

/// Where a journal lives and what it stands on: given to every part of it.
struct JournalSite: Sendable {
    let directory: String
    let uuid: JournalUUID
    let disk: any Disk
    let clock: any Clock
    let telemetry: Telemetry
    private let live: LiveOptions

    init(
        directory: String, uuid: JournalUUID, options: JournalOptions, disk: any Disk, clock: any Clock,
        telemetry: Telemetry
    ) {
        self.directory = directory
        self.uuid = uuid
        self.disk = disk
        self.clock = clock
        self.telemetry = telemetry
        live = LiveOptions(options)
    }

    /// As they are now: a reload may change them at any time.
    var options: JournalOptions { live.options.withLock { $0 } }

    func setOptions(_ options: JournalOptions) { live.options.withLock { $0 = options } }

    private final class LiveOptions: Sendable {
        let options: Mutex<JournalOptions>
        init(_ options: JournalOptions) { self.options = Mutex(options) }
    }

    func path(_ name: String) -> String { directory + "/" + name }

    func seed(_ segment: Segment) -> ChecksumSeed {
        ChecksumSeed(uuid: uuid, firstPosition: segment.firstPosition)
    }

    /// Replaces a small file so that after a crash either the old or the new one is there.
    func replace(_ name: String, with bytes: [UInt8]) throws(SystemError) {
        try Self.replace(name, in: directory, with: bytes, disk)
    }

    static func replace(
        _ name: String, in directory: String, with bytes: [UInt8], _ disk: any Disk
    ) throws(SystemError) {
        let temporary = directory + "/" + name + ".new"
        let file = try disk.open(temporary, .createOrReadWrite)
        try file.truncate(to: 0)
        try file.write(bytes.span, at: 0)
        try file.sync()
        try disk.rename(temporary, to: directory + "/" + name)
        try disk.syncDirectory(directory)
    }

    /// All of a small file; nil if there is none.
    static func contents(_ path: String, limit: Int, _ disk: any Disk) throws(SystemError) -> [UInt8]? {
        guard try disk.status(path) != nil else { return nil }
        let file = try disk.open(path, .readOnly)
        var bytes: [UInt8] = []
        _ = try file.read(min(try file.size(), limit), at: 0, appendingTo: &bytes)
        return bytes
    }
}
