import Platform

/// What the headers of a shared library say (elf(5)). A library that must not be loaded is refused here, before the
/// loader maps any of it.
struct ELFFile {
    /// The build id that the linker wrote, in hexadecimal; nil: there is none.
    let build: String?

    #if arch(x86_64)
        private static let machine: UInt16 = 62
    #elseif arch(arm64)
        private static let machine: UInt16 = 183
    #endif

    private static let machines: [UInt16: String] = [
        3: "x86", 20: "PowerPC", 21: "PowerPC 64", 22: "S/390", 40: "ARM", 62: "x86-64", 183: "ARM64", 243: "RISC-V",
    ]

    /// - Throws: if it is no library for this machine, or would make the stack executable.
    init(_ path: String, _ file: borrowing FileDescriptor) throws(PluginError) {
        let head = file.read(at: 0, 64)
        guard head.count == 64, head.starts(with: [0x7F, 0x45, 0x4C, 0x46]) else {
            throw PluginError(.notLoadable, "\(path) cannot be loaded: it is not a shared library (no ELF file)")
        }
        // Class 2: 64 bits. Data 1: little-endian.
        let theirs: UInt16 = Self.number(head, at: 18, head[5] == 2)
        guard head[4] == 2, head[5] == 1, theirs == Self.machine else {
            let name = Self.machines[theirs] ?? "machine \(theirs)"
            throw PluginError(
                .notLoadable,
                """
                \(path) cannot be loaded: it was built for \(name) (\(head[4] == 2 ? 64 : 32) bits), and this machine \
                is \(Self.machines[Self.machine] ?? "another one"): install the plugin that was built for it
                """)
        }
        guard Self.number(head, at: 16, false) as UInt16 == 3 else {
            throw PluginError(.notLoadable, "\(path) cannot be loaded: it is not a shared library (cc -shared)")
        }
        let table: UInt64 = Self.number(head, at: 32, false)
        let size = Int(Self.number(head, at: 54, false) as UInt16)
        let count = Int(Self.number(head, at: 56, false) as UInt16)
        var build: String?
        // A library without this header gets an executable stack, too.
        var hasSafeStack = false
        guard count <= 64 else {
            throw PluginError(.notLoadable, "\(path) cannot be loaded: it has \(count) program headers, more than 64")
        }
        for index in 0..<count where size >= 56 {
            let entry = file.read(at: table &+ UInt64(index * size), 56)
            guard entry.count == 56 else { break }
            let flags: UInt32 = Self.number(entry, at: 4, false)
            switch Self.number(entry, at: 0, false) as UInt32 {
            case 0x6474_E551: hasSafeStack = flags & 1 == 0
            case 4:
                let length: UInt64 = Self.number(entry, at: 32, false)
                let notes = file.read(at: Self.number(entry, at: 8, false), Int(min(length, 4096)))
                build = build ?? Self.build(in: notes)
            default: break
            }
        }
        guard hasSafeStack else {
            throw PluginError(
                .notLoadable,
                """
                \(path) is refused: it asks for an executable stack, which makes every overflow of a buffer \
                dangerous: link it with -z noexecstack
                """)
        }
        self.build = build
    }

    /// A note is the sizes of its name and its contents, its type, and both, each filled up to four bytes.
    private static func build(in notes: [UInt8]) -> String? {
        var place = 0
        while place + 12 <= notes.count {
            let name = Int(number(notes, at: place, false) as UInt32)
            let size = Int(number(notes, at: place + 4, false) as UInt32)
            let start = place + 12 + (name + 3) / 4 * 4
            guard start + size <= notes.count else { return nil }
            if number(notes, at: place + 8, false) as UInt32 == 3, notes[place + 12..<start].starts(with: "GNU\0".utf8)
            {
                return notes[start..<start + size].map { byte in
                    (byte < 16 ? "0" : "") + String(byte, radix: 16)
                }.joined()
            }
            place = start + (size + 3) / 4 * 4
        }
        return nil
    }

    private static func number<Number: FixedWidthInteger>(_ bytes: [UInt8], at place: Int, _ isBig: Bool) -> Number {
        let bytes = bytes[place..<place + MemoryLayout<Number>.size]
        return (isBig ? Array(bytes) : bytes.reversed()).reduce(0) { $0 << 8 | Number($1) }
    }
}
