import PluginHosting

/// What an input makes the plugin's process and the daemon do.
///
/// The first byte is the role and the size of the pieces in which the daemon reads. Then come steps: a byte for the
/// kind, two for the length (the lowest first), and as many bytes.
struct FrameScript {
    enum Step {
        /// The process writes these bytes to its pipe.
        case send([UInt8])
        /// It writes these bytes to its standard error.
        case print([UInt8])
        /// The daemon sends a request, so that it expects a reply. `isLoad`: the plugin describes itself in it.
        case request(isLoad: Bool)
        /// The daemon does something of its own: see SinkSide and SourceSide.
        case act([UInt8])
    }

    let role: PluginRole
    let pieceSize: Int
    let steps: [Step]

    init(_ input: [UInt8]) {
        role = input[0] & 1 == 0 ? .sink : .source
        pieceSize = 1 + Int(input[0] >> 1)
        var steps: [Step] = []
        var rest = input[1...]
        while let kind = rest.popFirst() {
            let low = Int(rest.popFirst() ?? 0)
            let length = low | Int(rest.popFirst() ?? 0) << 8
            let bytes = Array(rest.prefix(length))
            rest = rest.dropFirst(length)
            steps.append(Self.step(Int(kind & 15), bytes))
        }
        self.steps = steps
    }

    private static func step(_ kind: Int, _ bytes: [UInt8]) -> Step {
        switch kind {
        case 0: .send(bytes)
        case 1...11: .send(message(UInt32(31 + kind), bytes))
        case 12: .print(bytes)
        case 13: .request(isLoad: bytes.first ?? 0 == 0)
        // PLUGIN_LANE_UNTIL: the kinds between are taken.
        case 15: .send(message(43, bytes))
        default: .act(bytes)
        }
    }

    /// A message with a right header, which is hard to guess: its type is PLUGIN_REPLY or a later one, its token is the
    /// first eight bytes.
    private static func message(_ type: UInt32, _ bytes: [UInt8]) -> [UInt8] {
        ChannelModel.number(type) + ChannelModel.number(UInt32(max(bytes.count - 8, 0)))
            + bytes.prefix(8) + Array(repeating: 0, count: max(8 - bytes.count, 0)) + bytes.dropFirst(8)
    }
}
