import Platform
import Synchronization

/// Keeps the connections of Unix sockets beyond the end of this process: their sockets in a `SocketVault`, their state
/// in a `KeptMemory`. systemd holds both (`ServiceNotifier.keep`), so they are there after a restart, an upgrade and a
/// crash.
///
/// A client for which there is no place is served as if nothing were kept.
///
/// Threads: the accepting thread, which adds clients and removes those that are gone from the vault. Event loops
/// release places. The main thread takes what an earlier process has left, before the others start.
package final class ClientKeeper: @unchecked Sendable {
    /// Clients. Bounded, because older kernels look at every socket that is in a queue whenever a Unix socket is
    /// closed.
    static let capacity = 2048
    private static let magic: UInt64 = 0x31_7374_6E65_696C_63  // "clients1"
    private static let header = 4096
    private static let records = ClientRecord.size * 8
    private static let areas = header + capacity * records
    private static let size = areas + capacity * ClientSlot.largeRing
    /// Bytes of all rings beyond their first size.
    static let mostMemory = 32 << 20
    /// Entries in the vault beyond twice the clients, before it is put in order.
    private static let slack = 64

    private enum Name {
        static let memory = "@clients"
        static let input = "@vault.in"
        static let output = "@vault.out"
    }

    private struct Guest: Sendable {
        var index: Int
        var cookie: UInt64
    }

    /// The words of one record.
    private final class Words: RecordWords {
        let memory: KeptMemory
        let place: Int

        init(_ memory: KeptMemory, _ index: Int) {
            self.memory = memory
            place = ClientKeeper.header + index * ClientKeeper.records
        }

        subscript(word: Int) -> UInt64 {
            get { memory[place + 8 * word] }
            set { memory[place + 8 * word] = newValue }
        }
    }

    /// A client of an earlier process.
    final class Left: @unchecked Sendable {
        /// Nil: nothing was read from it.
        let slot: ClientSlot?
        /// The path of the socket that it is connected to.
        let path: String?
        private var socket: FileDescriptor?

        init(_ socket: consuming FileDescriptor, _ slot: ClientSlot?) {
            path = UnixListener.path(of: socket.raw)
            self.socket = consume socket
            self.slot = slot
        }

        func take() -> FileDescriptor? { socket.take() }
    }

    private let memory: KeptMemory
    private let vault: SocketVault
    private let free: Mutex<[Int]>
    private let released = Atomic<Bool>(false)
    private let grown = Atomic<Int>(0)
    /// The vault's entries. The accepting thread's.
    private var entries = Fifo<[Guest]>()
    private var guests = 0
    /// The entries with which the vault was full.
    private var most = Int.max
    private var left: [Left] = []
    /// Whether the clients of the earlier process have places of their own again. Until then, the vault must not lose
    /// them. The accepting thread's; the main thread sets it before that one starts.
    private var isResumed = true
    /// Wakes the accepting thread.
    var wake: () -> Void = {}

    /// Takes what an earlier process of this service has left, or begins anew.
    /// - Parameters:
    ///   - journal: identifies the journal whose positions count.
    ///   - durable: its end. Nothing was appended since it was opened.
    /// - Returns: nil: no service manager keeps anything.
    package static func open(
        _ activation: SocketActivation, _ service: ServiceNotifier, journal: (UInt64, UInt64), durable: UInt64
    ) throws(SystemError) -> ClientKeeper? {
        let memory = activation.takeKept(Name.memory)
        let input = activation.takeKept(Name.input)
        let output = activation.takeKept(Name.output)
        if let memory, let input, let output,
            let kept = try? KeptMemory(adopting: memory, size: size), kept[0] == magic
        {
            let isSame = kept[8] == journal.0 && kept[16] == journal.1
            (kept[8], kept[16]) = journal
            let keeper = ClientKeeper(kept, SocketVault(input: input, output: output))
            // The positions of another journal say nothing.
            keeper.takeLeft(durable: isSame ? durable : 0)
            return keeper
        }
        let keeper = try ClientKeeper(journal: journal)
        for name in [Name.memory, Name.input, Name.output] { service.forget(name: name) }
        guard service.keep([keeper.memory.descriptor], name: Name.memory),
            service.keep([keeper.vault.descriptors.input], name: Name.input),
            service.keep([keeper.vault.descriptors.output], name: Name.output)
        else { return nil }
        service.awaitReceipt()
        return keeper
    }

    /// Begins anew. Nobody else holds its memory and its vault yet.
    convenience init(journal: (UInt64, UInt64)) throws(SystemError) {
        let memory = try KeptMemory(size: Self.size)
        (memory[8], memory[16]) = journal
        memory[0] = Self.magic
        self.init(memory, try SocketVault())
    }

    private init(_ memory: KeptMemory, _ vault: SocketVault) {
        self.memory = memory
        self.vault = vault
        free = Mutex(Array((0..<Self.capacity).reversed()))
    }

    /// Identifies a source in a record (FNV-1a).
    static func number(ofSource name: String) -> UInt64 {
        name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    private func slot(_ index: Int, _ record: ClientRecord) -> ClientSlot {
        ClientSlot(index, record, memory, ring: Self.areas + index * ClientSlot.largeRing, self)
    }

    // MARK: Any thread

    func release(_ index: Int) {
        free.withLock { $0.append(index) }
        setUntidy()
    }

    /// Whether a ring may grow by this much.
    func grant(_ bytes: Int) -> Bool {
        if grown.add(bytes, ordering: .relaxed).newValue <= Self.mostMemory { return true }
        giveBack(bytes)
        return false
    }

    func grantAlways(_ bytes: Int) { grown.add(bytes, ordering: .relaxed) }
    func giveBack(_ bytes: Int) { grown.subtract(bytes, ordering: .relaxed) }

    // MARK: A restart

    private func takeLeft(durable: UInt64) {
        var places: [UInt64: Int] = [:]
        for index in 0..<Self.capacity {
            let cookie = Words(memory, index)[ClientRecord.Word.cookie]
            if cookie != 0 { places[cookie] = index }
        }
        var seen: Set<UInt64> = []
        vault.look { sockets in
            entries.append(
                sockets.map { kept in
                    guard let socket = kept.take() else { return Guest(index: 0, cookie: 0) }
                    let cookie = socket.cookie()
                    // An entry that was put in order may be there twice.
                    guard seen.insert(cookie).inserted else { return Guest(index: 0, cookie: 0) }
                    guard let index = places.removeValue(forKey: cookie) else {
                        // A peek offset means that it had a record, and is closed.
                        if socket.peekOffset() < 0 { left.append(Left(socket, nil)) }
                        return Guest(index: 0, cookie: 0)
                    }
                    let record = ClientRecord(
                        left: Words(memory, index), peekOffset: UInt64(max(0, socket.peekOffset())), durable: durable)
                    left.append(Left(socket, slot(index, record)))
                    return Guest(index: index, cookie: cookie)
                })
            guests += sockets.count
        }
        // Their sockets had not reached the vault.
        for index in places.values { Words(memory, index)[ClientRecord.Word.cookie] = 0 }
        let used = Set(left.compactMap(\.slot?.index))
        free.withLock { $0 = (0..<Self.capacity).reversed().filter { !used.contains($0) } }
        isResumed = left.isEmpty
        if isResumed { released.store(true, ordering: .releasing) }
    }

    /// The clients of the earlier process, once.
    func takeLeft() -> [Left] {
        defer { left = [] }
        return left
    }

    // MARK: The accepting thread

    /// All clients of the earlier process are kept or closed.
    func resumed() {
        isResumed = true
        setUntidy()
    }

    /// Accepts a client and keeps its connection.
    /// - Parameter slot: its place; nil: there is none.
    /// - Returns: nil: no client waits.
    func accept(
        from listener: borrowing FileDescriptor, ofSource source: UInt64, slot: inout ClientSlot?
    ) throws(SystemError) -> FileDescriptor? {
        var isIn = false
        // Before, because a client must not be lost between being accepted and being in the vault.
        if entries.count >= most { tidy(completely: true) }
        guard let socket = try vault.accept(from: listener, isIn: &isIn) else { return nil }
        // Not fewer than `slack`: the kernel may also refuse for a reason that passes, and order takes time.
        if !isIn { most = max(Self.slack, entries.count) }
        slot = keep(socket, ofSource: source, isIn: isIn)
        return socket
    }

    /// Keeps a client's connection from which nothing was read.
    /// - Parameter isIn: the vault has its socket already.
    /// - Returns: nil: there is no place.
    func keep(_ socket: borrowing FileDescriptor, ofSource source: UInt64, isIn: Bool = false) -> ClientSlot? {
        guard isIn || vault.put([socket.raw]) || (tidy(completely: true) && vault.put([socket.raw])) else {
            return nil
        }
        let cookie = socket.cookie()
        guard cookie != 0, let index = free.withLock({ $0.popLast() }) else {
            entries.append([Guest(index: 0, cookie: 0)])
            guests += 1
            // For the next process, it is closed.
            _ = socket.setPeekOffset(0)
            setUntidy()
            return nil
        }
        entries.append([Guest(index: index, cookie: cookie)])
        guests += 1
        let record = ClientRecord(
            new: Words(memory, index), cookie: cookie, source: source, size: ClientSlot.smallRing)
        guard record.arm(always: true, set: { socket.setPeekOffset($0) }) else {
            record.end()
            free.withLock { $0.append(index) }
            setUntidy()
            return nil
        }
        return slot(index, record)
    }

    private func setUntidy() {
        if !released.exchange(true, ordering: .acquiringAndReleasing) { wake() }
    }

    /// Whether connections were closed whose sockets are still in the vault.
    var isUntidy: Bool { released.load(ordering: .relaxed) }

    /// Removes sockets from the vault whose connections are closed.
    /// - Parameter completely: also from behind those that are open, and joins entries.
    /// - Returns: whether the vault has more room than before.
    @discardableResult
    func tidy(completely: Bool = false) -> Bool {
        guard isResumed else { return false }
        released.store(false, ordering: .relaxed)
        let before = guests
        let clients = Self.capacity - free.withLock { $0.count }
        var moves = completely || guests > 2 * clients + Self.slack ? entries.count : 0
        var (sockets, together): ([KeptSocket], [Guest]) = ([], [])
        while let front = entries.front {
            if !front.contains(where: isHere) {
                guard vault.dropFirst() else { break }
                _ = entries.popFirst()
                guests -= front.count
                continue
            }
            guard moves > 0 else { break }
            moves -= 1
            // First the new entry, then the old one goes: a kill between them leaves both.
            guard let open = vault.first() else { break }
            for (socket, guest) in zip(open, front) where isHere(guest) {
                sockets.append(socket)
                together.append(guest)
            }
            guard vault.put(sockets) else { break }
            entries.append(together)
            guests += together.count
            (sockets, together) = ([], [])
            guard vault.dropFirst() else { break }
            _ = entries.popFirst()
            guests -= front.count
        }
        return guests < before
    }

    private func isHere(_ guest: Guest) -> Bool {
        guest.cookie != 0 && Words(memory, guest.index)[ClientRecord.Word.cookie] == guest.cookie
    }
}
