import Platform
import Synchronization
import Telemetry

/// A journal's directory, identity and environment, shared by all parts of the journal.
struct JournalContext: Sendable {
    let directory: String
    let uuid: JournalUUID
    let disk: any Disk
    let clock: any Clock
    let telemetry: Telemetry
    let protections: Protections
    /// nil: nobody asks how long the disk takes.
    let timings: JournalTimings?
    private let live: LiveOptions

    init(
        directory: String, uuid: JournalUUID, options: JournalOptions, disk: any Disk, clock: any Clock,
        telemetry: Telemetry, timings: JournalTimings? = nil
    ) {
        self.directory = directory
        self.uuid = uuid
        self.disk = disk
        self.clock = clock
        self.telemetry = telemetry
        self.timings = timings
        protections = options.protections
        live = LiveOptions(options)
    }

    /// The current options: a reload can change them at any time.
    var options: JournalOptions { live.options.withLock { $0 } }

    func setOptions(_ options: JournalOptions) { live.options.withLock { $0 = options } }

    private final class LiveOptions: Sendable {
        let options: Mutex<JournalOptions>
        init(_ options: JournalOptions) { self.options = Mutex(options) }
    }

    func path(_ name: String) -> String { directory + "/" + name }

    func seed(_ segment: Segment) -> ChecksumSeed {
        seed(segment.firstPosition)
    }

    func seed(_ position: UInt64) -> ChecksumSeed {
        ChecksumSeed(uuid: uuid, firstPosition: position, protections)
    }

    /// Syncs a file, unless the simulator has taken this protection out.
    func sync(_ file: any DiskFile, _ protection: Protections) throws(SystemError) {
        if protections.contains(protection) { try file.sync() }
    }

    /// Syncs a directory, unless the simulator has taken this protection out.
    func syncDirectory(_ path: String, _ protection: Protections) throws(SystemError) {
        if protections.contains(protection) { try disk.syncDirectory(path) }
    }

    /// Replaces a small file. After a crash either the old or the new contents are there.
    func replace(
        _ name: String, with bytes: [UInt8], _ content: Protections, _ entry: Protections
    ) throws(SystemError) {
        let temporary = directory + "/" + name + ".new"
        let file = try disk.open(temporary, .createOrReadWrite)
        try file.truncate(to: 0)
        try file.write(bytes.span, at: 0)
        try sync(file, content)
        try disk.rename(temporary, to: directory + "/" + name)
        try syncDirectory(directory, entry)
    }

    /// The contents of a small file, up to `limit` bytes; nil if the file does not exist.
    static func contents(_ path: String, limit: Int, _ disk: any Disk) throws(SystemError) -> [UInt8]? {
        guard try disk.status(path) != nil else { return nil }
        let file = try disk.open(path, .readOnly)
        var bytes: [UInt8] = []
        _ = try file.read(min(try file.size(), limit), at: 0, appendingTo: &bytes)
        return bytes
    }
}
