import CNats
import FleetFormat
import PenstockPluginKit

/// The key-value bucket of the leases. A lease is a key with a lane's owner, which the server removes when it is not
/// written again within the bucket's TTL. Every write names the revision that it replaces, so two owners cannot follow
/// one another unseen. Any thread.
///
/// Unsafe part: the library's handle, valid until the last reference. The connection must outlive it.
@safe final class NATSLeases: @unchecked Sendable {
    /// The TTL of a bucket that is created here.
    private static let defaultTTL = Duration.seconds(30)
    private static let bounds = Duration.seconds(3)...Duration.seconds(3600)

    let timeToLive: Duration
    let connection: NATSConnection
    private let handle: OpaquePointer

    /// Opens the bucket, or creates it.
    init(_ jetStream: JetStream, bucket: String, replicas: Int64) throws {
        var handle: OpaquePointer?
        var status = unsafe js_KeyValue(&handle, jetStream.handle, bucket)
        if status == NATS_NOT_FOUND {
            status = unsafe bucket.withCString { name in
                var configuration = unsafe kvConfig()
                unsafe kvConfig_Init(&configuration)
                unsafe configuration.Bucket = name
                unsafe configuration.History = 1
                unsafe configuration.TTL = Self.defaultTTL.wholeMilliseconds * 1_000_000
                unsafe configuration.Replicas = Int32(clamping: max(1, replicas))
                return unsafe js_CreateKeyValue(&handle, jetStream.handle, &configuration)
            }
        }
        if status != NATS_OK {
            throw NATSError(status).with("the key-value bucket \(bucket) of the leases cannot be opened or created")
        }
        guard let handle = unsafe handle else { throw NATSError(NATS_NO_MEMORY) }
        var facts: OpaquePointer?
        status = unsafe kvStore_Status(&facts, handle)
        let ttl = status == NATS_OK ? unsafe kvStatus_TTL(facts) : 0
        unsafe kvStatus_Destroy(facts)
        timeToLive = .nanoseconds(ttl)
        connection = jetStream.connection
        unsafe self.handle = handle
        if status != NATS_OK { throw NATSError(status).with("the bucket \(bucket) of the leases cannot be read") }
        guard Self.bounds.contains(timeToLive) else {
            throw SourceError(
                "the bucket \(bucket) has the TTL \(timeToLive), but leases need 3 seconds to 1 hour: "
                    + "delete the bucket, or set settings.leases to another one")
        }
    }

    deinit { unsafe kvStore_Destroy(handle) }

    /// - Returns: nil: another owner has it.
    func claim(_ key: String, _ owner: NATSOwner) throws(NATSError) -> NATSLease? {
        let start = ContinuousClock.now
        var revision: UInt64 = 0
        var status: natsStatus
        if let (holder, current) = try read(key) {
            guard owner.mayTake(holder) else { return nil }
            status = unsafe kvStore_UpdateString(&revision, handle, key, owner.text, current)
        } else {
            status = unsafe kvStore_CreateString(&revision, handle, key, owner.text)
        }
        // Another owner was faster.
        if status != NATS_OK, let (holder, _) = try read(key), holder != owner.text { return nil }
        try NATSError.check(status)
        return NATSLease(self, key: key, owner: owner.text, revision: revision, start)
    }

    /// - Returns: false: another owner has the lease.
    func write(_ text: String, _ lease: NATSLease) throws(NATSError) -> Bool {
        var revision: UInt64 = 0
        let status = unsafe kvStore_UpdateString(&revision, handle, lease.key, text, lease.revision)
        if status == NATS_OK {
            lease.revision = revision
            return true
        }
        // An answer that got lost leaves an unknown revision.
        guard let (holder, current) = try read(lease.key) else { return false }
        if holder == text {
            lease.revision = current
            return true
        }
        if holder != lease.owner { return false }
        lease.revision = current
        throw NATSError(status)
    }

    /// Whether nobody has a lease that this owner may take.
    func isFree(_ key: String, for owner: NATSOwner) throws(NATSError) -> Bool {
        try read(key).map { owner.mayTake($0.holder) } ?? true
    }

    func put(_ key: String, _ text: String) throws(NATSError) {
        try NATSError.check(unsafe kvStore_PutString(nil, handle, key, text))
    }

    func remove(_ key: String) throws(NATSError) { try NATSError.check(unsafe kvStore_Delete(handle, key)) }

    /// The keys that have not expired.
    func keys() throws(NATSError) -> [String] {
        var list = unsafe kvKeysList()
        let status = unsafe kvStore_Keys(&list, handle, nil)
        defer { unsafe kvKeysList_Destroy(&list) }
        if status == NATS_NOT_FOUND { return [] }
        try NATSError.check(status)
        return unsafe (0..<Int(list.Count)).compactMap { unsafe list.Keys[$0].map { unsafe String(cString: $0) } }
    }

    fileprivate func read(_ key: String) throws(NATSError) -> (holder: String, revision: UInt64)? {
        var entry: OpaquePointer?
        let status = unsafe kvStore_Get(&entry, handle, key)
        defer { unsafe kvEntry_Destroy(entry) }
        if status == NATS_NOT_FOUND { return nil }
        try NATSError.check(status)
        let count = unsafe max(0, Int(kvEntry_ValueLen(entry)))
        let value = unsafe UnsafeRawBufferPointer(start: kvEntry_Value(entry), count: count)
        return unsafe (String(decoding: value, as: UTF8.self), kvEntry_Revision(entry))
    }
}

/// The right to read a lane, for a time. Belongs to one thread.
final class NATSLease {
    let key: String
    let owner: String
    fileprivate(set) var revision: UInt64
    private let leases: NATSLeases
    private var term: LeaseTerm
    /// Called with the time that the lease is valid for.
    var onRenewal: ((Duration) -> Void)? { didSet { onRenewal?(term.end - .now) } }

    /// - Parameter start: a time before the server wrote the lease.
    fileprivate init(
        _ leases: NATSLeases, key: String, owner: String, revision: UInt64, _ start: ContinuousClock.Instant
    ) {
        (self.leases, self.key, self.owner, self.revision) = (leases, key, owner, revision)
        term = LeaseTerm(timeToLive: leases.timeToLive, from: start)
    }

    /// Whether no other owner can have it.
    var isValid: Bool { term.isValid(at: .now) }

    /// How long until the next renewal; at most a third of the TTL.
    var timeToRenewal: Duration { term.timeToRenewal(at: .now) }

    /// Writes it again, when it is time. If the server does not answer, it is tried again until the lease has expired.
    /// - Returns: whether it is valid.
    func keep() -> Bool {
        guard isValid, timeToRenewal <= .zero else { return isValid }
        let start = ContinuousClock.now
        if let isWritten = try? leases.write(owner, self) {
            if isWritten { term.renew(from: start) } else { term.lose() }
            if isWritten { onRenewal?(term.end - .now) }
        }
        return isValid
    }

    /// Whether the server still has this owner's claim.
    func isConfirmed() throws(NATSError) -> Bool {
        guard let (holder, current) = try leases.read(key), holder == owner else {
            term.lose()
            return false
        }
        revision = current
        return isValid
    }

    /// Lets another owner have it at once.
    func release() {
        guard isValid else { return }
        _ = try? leases.write("", self)
        term.lose()
    }
}
