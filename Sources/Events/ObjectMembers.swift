import CSimdjson

/// Lists the members of one JSON object at a time. Keeps its memory for the next object: 20 bytes for each member that
/// the largest one could have. Belongs to one thread.
@safe package final class ObjectMembers {
    /// A pointer, because every access to an array in a class would check for exclusive access.
    private var found: UnsafeMutableBufferPointer<psj_member>
    package private(set) var count = 0

    package init() {
        unsafe found = .allocate(capacity: 16)
        unsafe found.initialize(repeating: psj_member())
    }

    deinit { unsafe found.deallocate() }

    /// - Parameter object: the bytes of an object, from its opening to its closing brace.
    /// - Returns: false if these are not the bytes of an object. It may return true for bytes that are not valid JSON.
    package func read(_ object: Span<UInt8>) -> Bool {
        // The shortest member with its comma has 5 bytes: `"":0,`.
        reserve(object.count / 5 + 1)
        var members = 0
        let isRead = unsafe object.withUnsafeBufferPointer { object in
            unsafe psj_list_members(object.baseAddress, object.count, found.baseAddress, found.count, &members) != 0
        }
        count = isRead ? members : 0
        return isRead
    }

    private func reserve(_ capacity: Int) {
        if unsafe capacity <= found.count { return }
        unsafe found.deallocate()
        unsafe found = .allocate(capacity: capacity)
        unsafe found.initialize(repeating: psj_member())
    }

    /// The contents of a member's key, without quotes, relative to the object. They may contain escapes.
    /// - Precondition: the member exists.
    package func key(_ member: Int) -> Range<Int> {
        precondition(member >= 0 && member < count, "the object has no member of this number")
        return unsafe Slice(found[member].key).range
    }

    /// A member's value. Its slice is relative to the object.
    /// - Precondition: the member exists.
    package func value(_ member: Int) -> FieldValue {
        precondition(member >= 0 && member < count, "the object has no member of this number")
        return unsafe FieldValue(found[member].value)
    }
}
