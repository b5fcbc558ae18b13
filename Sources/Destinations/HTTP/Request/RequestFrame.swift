import Platform

/// The text around the events of a request.
struct RequestFrame: Equatable {
    private(set) var before: [UInt8]
    private(set) var after: [UInt8]
    /// It was changed, so that the service accepts it.
    private(set) var isMended = false

    init(_ before: ArraySlice<UInt8>, _ after: ArraySlice<UInt8>) {
        self.before = Array(before)
        self.after = Array(after)
    }

    /// Stands for the events, as a JSON string that no event can know.
    private static let mark: [UInt8] = {
        var random = SystemRandomNumberGenerator()
        return Array("\"events-\(String(random.next() as UInt64, radix: 16))\"".utf8)
    }()

    /// The frame with what its limits change.
    /// - Throws: the limit that it breaks.
    func checked(_ check: (any OutputCheck)?, at time: Int64) throws(RequestText.Refusal) -> RequestFrame {
        guard let check else { return self }
        let json = before + Self.mark + after
        let mended = check.mended(json.span, at: time)
        let result = mended ?? json
        if let problem = check.problem(with: result.span, at: time) {
            throw RequestText.Refusal(reason: "body: \(problem)")
        }
        guard let mended else { return self }
        guard let place = mended.firstRange(of: Self.mark) else {
            throw RequestText.Refusal(reason: "body: the limits remove the events from it")
        }
        var frame = RequestFrame(mended[..<place.lowerBound], mended[place.upperBound...])
        frame.isMended = true
        return frame
    }
}
