import Foundation
import Testing

@testable import Platform

/// `readNext`: the same bytes as `read`, whatever the disk reads meanwhile.
@Suite struct ReadAheadTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path + "/file"
    }

    /// Bytes that differ at every place.
    private func contents(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
    }

    private func open(_ bytes: [UInt8]) throws -> any DiskFile {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return try SystemDisk().openDirect(path, .readOnly)
    }

    @Test(arguments: [1, 4095, 4096, 100_000, 262_144, 524_288, 1_000_000])
    func `a file that is read in order is read whole`(step: Int) throws {
        let expected = contents(step == 1 ? 20_000 : 3_500_123)
        let file = try open(expected)
        var ahead: ReadAhead?
        var bytes: [UInt8] = []
        while true {
            let got = try file.readNext(step, at: bytes.count, ahead: &ahead, appendingTo: &bytes)
            if got < step { break }
        }
        #expect(bytes == expected)
        #expect(try file.readNext(10, at: bytes.count, ahead: &ahead, appendingTo: &bytes) == 0)
    }

    @Test func `reads at any place and of any size get the bytes that are there`() throws {
        let expected = contents(2_700_001)
        let file = try open(expected)
        var ahead: ReadAhead?
        var random = SystemRandomNumberGenerator()
        var place = 0
        for _ in 0..<400 {
            let count = Int.random(in: 1...700_000, using: &random)
            var bytes: [UInt8] = []
            let got = try file.readNext(count, at: place, ahead: &ahead, appendingTo: &bytes)
            let end = min(place + count, expected.count)
            #expect(got == end - place && bytes[...] == expected[place..<end], "\(count) bytes at \(place)")
            // Mostly in order, sometimes elsewhere.
            place =
                Int.random(in: 0..<10, using: &random) < 7 && end < expected.count
                ? end : Int.random(in: 0..<expected.count, using: &random)
        }
    }

    @Test func `a file that becomes shorter ends there`() throws {
        let file = try open(contents(4 << 20))
        var ahead: ReadAhead?
        var bytes: [UInt8] = []
        #expect(try file.readNext(4096, at: 0, ahead: &ahead, appendingTo: &bytes) == 4096)
        let cut = unsafe truncate(path, 100_000)
        #expect(cut == 0)
        bytes = []
        // What was read ahead may still be given; what lies beyond is not.
        let got = try file.readNext(4 << 20, at: 4096, ahead: &ahead, appendingTo: &bytes)
        #expect(got < (4 << 20) - 4096 && bytes == Array(contents(4096 + got)[4096...]))
    }

    @Test func `files are read one after the other, each ended in the middle`() throws {
        var ahead: ReadAhead?
        for number in 0..<50 {
            let expected = (0..<2 << 20).map { UInt8(truncatingIfNeeded: $0 + number) }
            let file = try open(expected)
            for place in [0, 4096] {
                var bytes: [UInt8] = []
                #expect(try file.readNext(4096, at: place, ahead: &ahead, appendingTo: &bytes) == 4096)
                #expect(bytes == Array(expected[place..<place + 4096]))
            }
            ahead?.forget()
        }
    }
}
