import Events
import Foundation
import Testing

@Suite struct HostileInputTests {
    static let seeds = [
        #"{"type":"track","event":"Order Completed","userId":"u","messageId":"m","timestamp":"2024-01-31T12:00:00Z","#
            + #""properties":{"total":39.95,"products":[{"sku":"a","n":1},{"sku":"b","n":-2e3}],"ok":true,"no":null}}"#,
        #"{"ty\u0070e":"identify","anonymousId":"\ud83d\ude00","traits":{"a":{"b":[[],{}]}},"userId":"é"}"#,
        #" { "type" : "alias" , "userId" : "u" , "previousId" : "p\\" } "#,
    ]
    static let pieces = [
        "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u", "\\ud800", "\\udc00", "1e", "-", "0", "null", "tru", "\t",
        "\0",
        "\"userId\":", "\"type\":\"page\",", "😀", "\u{1}",
    ]

    /// Another parser also reads each accepted event as an object, and its slices lie within it.
    @Test(arguments: 0..<8 as Range<UInt64>)
    func `a mutated event is accepted only if it is valid JSON`(_ seed: UInt64) {
        var random = SplitMix(state: seed)
        var accepted = 0
        for _ in 0..<2000 {
            var bytes = Array(Self.seeds.randomElement(using: &random)?.utf8 ?? "".utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) { mutate(&bytes, using: &random) }
            bytes.append(UInt8(ascii: "\n"))
            let scan = Scan(bytes)
            for event in scan.accepted {
                accepted += 1
                let json = Data(scan.text(event).utf8)
                let object = try? JSONSerialization.jsonObject(with: json)
                #expect(object is [String: Any], "\(scan.text(event))")
                for slice in [event.index.event, event.index.messageID, event.index.userID, event.index.anonymousID] {
                    #expect(!slice.isPresent || slice.range.upperBound <= Int(event.length))
                }
            }
            #expect(scan.result.consumed == bytes.count)
        }
        #expect(accepted > 100)
    }

    private func mutate(_ bytes: inout [UInt8], using random: inout SplitMix) {
        let position = Int.random(in: 0...bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes.removeSubrange(position...)
        case 1: bytes.insert(contentsOf: (Self.pieces.randomElement(using: &random) ?? "").utf8, at: position)
        case 2 where position < bytes.count: bytes[position] = UInt8.random(in: 0...255, using: &random)
        default: bytes.removeSubrange(position..<min(position + 3, bytes.count))
        }
    }
}

/// A random generator with a fixed seed: each run makes the same numbers, so that a failure can be reproduced.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
