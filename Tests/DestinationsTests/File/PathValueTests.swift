import Delivery
import Events
import Foundation
import Platform
import Telemetry
import Testing

@testable import Destinations

/// A batch of these JSON texts, at consecutive positions from `position` on.
func makeBatch(_ texts: [String], from position: UInt64 = 0, at time: Int64) -> OutboundBatch {
    var batch = OutboundBatch()
    for (number, text) in texts.enumerated() {
        let start = batch.payload.count
        batch.payload += Array(text.utf8)
        batch.events.append(
            OutboundEvent(
                position: position + UInt64(number), receivedAt: time, kind: .track,
                payload: start..<batch.payload.count,
                messageID: 0..<0))
        batch.payload.append(UInt8(ascii: "\n"))
    }
    return batch
}

@Suite("Event values in paths")
struct PathValueTests {
    let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private func options(_ tail: [FileDestinationOptions.PathPiece]) -> FileDestinationOptions {
        FileDestinationOptions(path: [.text(directory.path + "/")] + tail)
    }

    private func name(_ json: String, _ tail: [FileDestinationOptions.PathPiece]) throws -> String {
        let path = try #require(try FileDestination.preview(of: makeBatch([json], at: 0), options(tail)).first).path
        return String(path.dropFirst(directory.path.count + 1))
    }

    private static let tenant = FileDestinationOptions.PathPiece.value(FieldPath(["properties", "tenant"]))

    @Test(arguments: [
        (#""acme""#, "acme"), (#""A-b_c.d""#, "A-b_c.d"), (#""""#, "_empty"), ("null", "_missing"), ("[1]", "_missing"),
        ("{}", "_missing"), ("12.50", "12.50"), ("true", "true"), (#"".""#, "%2E"), (#""..""#, "%2E."),
        (#""../../etc/passwd""#, "%2E.%2F..%2Fetc%2Fpasswd"), (#""/""#, "%2F"), (#""a\u0000b\n""#, "a%00b%0A"),
        (#""\u00e4""#, "%C3%A4"), (#""ä""#, "%C3%A4"), (#""_missing""#, "%5Fmissing"), (#""-rf""#, "%2Drf"),
        (#""a%2Fb""#, "a%252Fb"),
        (#""a b~c""#, "a%20b%7Ec"), (#""\ud83d\ude00""#, "%F0%9F%98%80"), (#""\\..\\""#, "%5C..%5C"),
    ])
    func `a value becomes a part of one name, whatever it is`(value: String, expected: String) throws {
        #expect(
            try name(#"{"properties":{"tenant":\#(value)}}"#, [Self.tenant, .text("/events.ndjson")]) == expected
                + "/events.ndjson")
    }

    @Test func `a value beside template text never contains the template's separators or the extension's dot`() throws {
        let other = FileDestinationOptions.PathPiece.value(FieldPath(["b"]))
        let tail: [FileDestinationOptions.PathPiece] = [Self.tenant, .text("-"), other, .text(".ndjson")]
        let left = try name(#"{"properties":{"tenant":"x-y"},"b":"z.1"}"#, tail)
        #expect(left == "x%2Dy-z%2E1.ndjson")
        #expect(try name(#"{"properties":{"tenant":"x"},"b":"y-z.1"}"#, tail) == "x-y%2Dz%2E1.ndjson")
    }

    @Test func `long values are cut and stay distinct`() throws {
        let names = try (0..<2).map { number in
            try name(
                #"{"properties":{"tenant":"\#(String(repeating: "ä", count: 5000))\#(number)"}}"#,
                [Self.tenant, .text(".ndjson")])
        }
        #expect(names[0] != names[1])
        #expect(names.allSatisfy { $0.utf8.count <= 96 + 7 && $0.hasPrefix("%C3%A4%C3%A4") && $0.contains("~") })
        // 96 bytes are within the limit, and no value can look like one that was cut.
        let whole = String(repeating: "a", count: 96)
        #expect(try name(#"{"properties":{"tenant":"\#(whole)"}}"#, [Self.tenant, .text("/x")]) == whole + "/x")
    }

    @Test func `a template is rejected if its values could run together or its names become too long`() {
        let a = FileDestinationOptions.PathPiece.value(FieldPath(["a"]))
        for tail in [
            [a, a], [a, .text("x"), a], [a, .text("%Y")], [.text("%Y"), a], [a, .text("%%"), a],
            [a, .text("-"), a, .text("-"), a, .text(".ndjson")], [a, .text(String(repeating: "x", count: 200))],
        ] as [[FileDestinationOptions.PathPiece]] {
            #expect(throws: FileDestinationError.self, "\(tail)") { try FileDestination.validate(options(tail)) }
        }
        for tail in [
            [a, .text("/"), a, .text(".ndjson")], [.text("tenant="), a, .text("/%Y%m%d.ndjson.gz")],
            [a, .text("-%Y%m%d")],
        ] as [[FileDestinationOptions.PathPiece]] {
            #expect(throws: Never.self, "\(tail)") { try FileDestination.validate(options(tail)) }
        }
    }

    @Test(arguments: [1, 2, 5, 100])
    func `each value has its own file, and the number of open files is bounded`(openFiles: Int) throws {
        var options = options([Self.tenant, .text("/%Y.ndjson")])
        options.openFiles = openFiles
        let bench = try FileBench(options)
        func event(_ number: Int) -> String { #"{"properties":{"tenant":"t\#(number % 7)"},"n":\#(number)}"# }
        for round in 0..<5 {
            let batch = makeBatch(
                (0..<20).map { event(round * 20 + $0) }, from: UInt64(round * 20), at: bench.clock.wallClock())
            #expect(bench.deliver(batch)?.isDelivered == true)
            #expect(bench.destination.files.count <= openFiles)
            try bench.checkpoint(UInt64(round * 20 + 20))
        }
        #expect(directory.files == (0..<7).map { "t\($0)/2026.ndjson" })
        for tenant in 0..<7 {
            #expect(try directory.lines("t\(tenant)/2026.ndjson") == (0..<100).filter { $0 % 7 == tenant }.map(event))
        }
    }

    @Test func `events that exceed the hourly number of new files share an overflow file`() throws {
        var options = options([Self.tenant, .text(".ndjson")])
        options.newFiles = 3
        let bench = try FileBench(options)
        func deliver(_ tenants: Range<Int>) {
            bench.deliver(
                makeBatch(tenants.map { #"{"properties":{"tenant":"t\#($0)"}}"# }, at: bench.clock.wallClock()))
        }
        deliver(0..<5)
        #expect(directory.files == ["_overflow.ndjson", "t0.ndjson", "t1.ndjson", "t2.ndjson"])
        #expect(bench.telemetry.counts()["new_files_limited"] == 2)
        deliver(1..<2)
        #expect(try directory.lines("t1.ndjson").count == 2, "an existing file still receives events")
        bench.clock.advance(.seconds(3600))
        deliver(4..<5)
        #expect(directory.files.contains("t4.ndjson"))
    }
}

@Suite("Path templates that overlap")
struct PathPatternTests {
    typealias Piece = FileDestinationOptions.PathPiece
    private static let value = Piece.value(FieldPath(["a"]))

    private func meet(_ a: [Piece], _ b: [Piece]) -> Bool {
        meeting(a, b) == .same
    }

    private func meeting(_ a: [Piece], _ b: [Piece]) -> WrittenPath.Meeting? {
        WrittenPath(.init(path: a), SystemDisk()).meeting(WrittenPath(.init(path: b), SystemDisk()))
    }

    @Test func `two templates overlap if one path is possible for both`() {
        #expect(meet([.text("/x/"), Self.value, .text(".ndjson")], [.text("/x/archive.ndjson")]))
        #expect(meet([.text("/x/%Y-%m-%d.ndjson")], [.text("/x/"), Self.value, .text(".ndjson")]))
        #expect(meet([.text("/x/%F.ndjson")], [.text("/x/%Y-%m-%d.ndjson")]))
        #expect(meet([.text("/x/%A.ndjson")], [.text("/x/Monday.ndjson")]))
        #expect(meet([.text("/"), Self.value, .text("/b")], [.text("/a/"), Self.value]))
        #expect(!meet([.text("/x/%Y-%m-%d.ndjson")], [.text("/x/events.ndjson")]))
        #expect(!meet([.text("/x/"), Self.value, .text(".ndjson")], [.text("/x/"), Self.value, .text(".csv")]))
        #expect(!meet([.text("/x/"), Self.value], [.text("/x/"), Self.value, .text("/y")]))
        #expect(!meet([.text("/x/a-"), Self.value], [.text("/x/b-"), Self.value]))
        #expect(!meet([.text("/x/"), Self.value], [.text("/x/a b")]), "a space is encoded")
    }

    @Test func `two templates conflict if one needs a file where the other needs a directory`() {
        #expect(meeting([.text("/x/"), Self.value], [.text("/x/"), Self.value, .text("/y")]) == .above)
        #expect(meeting([.text("/x/a/b/c")], [.text("/x/a")]) == .below)
        #expect(meeting([.text("/x/a/b")], [.text("/x/ab")]) == nil)
    }

    @Test func `paths are compared after symbolic links are resolved`() throws {
        let directory = FileManager.default.temporaryDirectory.path + "/penstock-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory + "/real/inner", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createSymbolicLink(atPath: directory + "/link", withDestinationPath: "real/inner")
        func meeting(_ a: String, _ b: String) -> WrittenPath.Meeting? {
            WrittenPath(directory + a, SystemDisk()).meeting(WrittenPath(directory + b, SystemDisk()))
        }
        #expect(meeting("/link/x", "/real/inner/x") == .same)
        #expect(meeting("/link/../x", "/real/x") == .same, ".. follows the link")
        #expect(meeting("/none/../x", "/x") == .same)
        #expect(meeting("/none/..//none/./x", "/none") == .below)
        #expect(meeting("/link/x", "/link2/x") == nil)
        #expect(self.meeting([.text(directory + "/link/"), Self.value], [.text(directory + "/real/inner/a")]) == .same)
        #expect(self.meeting([.text("/x/"), Self.value, .text("/../a")], [.text("/x/a")]) == .same)
    }
}
