import Events
import Routing

/// An event as a journal reader returns it, in a batch that also holds other bytes.
struct SampleEvent {
    let batch: EventBatch
    let record: EventRecord

    /// - Parameters:
    ///   - json: a valid event. Its index is made as admission makes it.
    ///   - hasEmptyIDs: the index has empty ids, as admission made it in early versions.
    init(_ json: String, position: UInt64 = 7, from origin: Origin? = nil, hasEmptyIDs: Bool = true) {
        let bytes = Array(json.utf8)
        let names = ["type", "event", "messageId", "userId", "anonymousId", "integrations"]
        let values = PathReader(PathSet(names.map { FieldPath([$0]) }))
        _ = values.read(bytes.span)

        func slice(_ i: Int) -> Slice {
            values[i].type == .string || values[i].type == .escapedString ? values[i].slice : .absent
        }
        let kind = slice(0).isPresent ? String(decoding: bytes[slice(0).range], as: UTF8.self) : ""
        var index = EventIndex(kind: EventKind(name: kind) ?? .track)
        if index.kind == .track { index.event = slice(1) }
        (index.messageID, index.userID, index.anonymousID) = (slice(2), slice(3), slice(4))
        if !hasEmptyIDs {
            if index.userID.length == 0 { index.userID = .absent }
            if index.anonymousID.length == 0 { index.anonymousID = .absent }
        }
        let flags: [EventIndex.Flags] = [.eventEscaped, .messageIDEscaped, .userIDEscaped, .anonymousIDEscaped]
        for (i, flag) in flags.enumerated() where values[i + 1].type == .escapedString { index.flags.insert(flag) }
        if index.kind != .track, ![.missing, .null].contains(values[1].type) { index.flags.insert(.hasOtherValues) }
        if values[5].type != .missing { index.flags.insert(.hasIntegrations) }

        let before = Array("something else ".utf8)
        var batch = EventBatch()
        batch.ownBytes = before + bytes + Array(" more".utf8)
        record = EventRecord(
            position: position, receivedAt: 0, offset: UInt32(before.count), length: UInt32(bytes.count), origin: 0,
            index: index)
        batch.events = [record]
        batch.origins = origin.map { [$0] } ?? []
        self.batch = batch
    }

    func passes(_ filter: Filter) -> Bool {
        FilterMatcher(filter).matches(batch.json(of: record), record.index, from: batch.origin(of: record))
    }
}

/// An event with values of each type, names that need escapes, and strings with escapes.
let order = """
    {"type":"track","event":"Order Completed","messageId":"m-1","userId":"u_1","anonymousId":null,\
    "timestamp":"2024-05-01T10:00:00Z",\
    "context":{"os":{"name":"iOS","version":"17.5.1"},"ip":"10.0.0.1","locale":"de-DE","active":true},\
    "properties":{"total":1999,"discount":2.50,"currency":"EUR","coupon":null,"gift":false,"first":true,\
    "tags":["new","sale"],"numbers":[1,2.0,3],"empty":[],"mixed":["a",1,true,null,["x"],{"k":"v"}],\
    "products":[{"sku":"A-1","name":"Shoe","price":10},{"sku":"B-2","name":"Hat, \\"red\\"","price":20.5}],\
    "product 1":{"price":"19.99"},"note":"caf\\u00e9 \\"noir\\"","city":"Zürich","star":"a*b",\
    "big":9007199254740993,"huge":123456789012345678901234567890,"text":"42","blank":""}}
    """
