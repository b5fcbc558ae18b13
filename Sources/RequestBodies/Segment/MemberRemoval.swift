import Events

/// Removes a member from the top level of an object.
enum MemberRemoval {
    /// Appends the object without all members of this key, each with one of the commas beside it. All other bytes stay.
    /// - Parameters:
    ///   - key: decoded.
    ///   - object: valid JSON, from brace to brace.
    static func append(
        _ object: Span<UInt8>, without key: Span<UInt8>, to output: inout [UInt8], _ reader: ObjectMembers
    ) {
        guard reader.read(object) else {
            output.append(contentsOf: object)
            return
        }
        /// The end of what was copied or removed.
        var done = 0
        /// The end of the last member that stays.
        var kept: Int?
        for member in 0..<reader.count {
            let start = reader.key(member).lowerBound - 1
            let end = reader.value(member).json?.upperBound ?? start
            guard JSONText.contents(object.extracting(reader.key(member)), equal: key) else {
                kept = end
                continue
            }
            if let kept {
                // With the comma before it.
                output.append(contentsOf: object.extracting(done..<max(done, kept)))
                done = end
            } else {
                // With the comma behind it, up to the next member.
                let isLast = member + 1 == reader.count
                output.append(contentsOf: object.extracting(done..<max(done, start)))
                done = isLast ? end : reader.key(member + 1).lowerBound - 1
            }
        }
        output.append(contentsOf: object.extracting(done...))
    }
}
