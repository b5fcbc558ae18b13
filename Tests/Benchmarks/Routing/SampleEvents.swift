import Events

/// The events of `make bench`, as a journal reader returns them.
enum SampleEvents {
    static let count = 1000
    private static let names = [
        "Page Loaded", "Product Viewed", "Product Added", "Cart Viewed", "Order Completed", "Signed In",
    ]

    static let batch: EventBatch = {
        var lines: [UInt8] = []
        for number in 0..<count { lines.append(contentsOf: json(number).utf8 + [0x0A]) }
        let scanner = EventScanner(maximumEventSize: 32 << 10, maximumDepth: 64)
        var scanned: [ScannedEvent] = []
        var refused: [ScannedRefusal] = []
        _ = scanner.scan(lines.span, accepted: &scanned, refused: &refused)
        precondition(refused.isEmpty && scanned.count == count, "the sample events are valid")
        var batch = EventBatch()
        batch.ownBytes = lines
        for (number, event) in scanned.enumerated() {
            batch.events.append(
                EventRecord(
                    position: UInt64(number), receivedAt: 1_763_700_000_000_000_000 + Int64(number),
                    offset: event.offset,
                    length: event.length, origin: 0, index: event.index))
        }
        return batch
    }()

    private static func json(_ number: Int) -> String {
        """
        {"type":"track","messageId":"\(String(10_000_000 + number))-0000-4000-8000-\(String(100_000_000_000 + number))",\
        "userId":"u_\(String(1_000_000 + number % 500))","anonymousId":"\(String(10_000_000 + number * 7))-1111-4000-8000-000000000000",\
        "event":"\(names[number % names.count])","timestamp":"2026-06-01T12:00:00.000Z",\
        "context":{"library":{"name":"bench","version":"1.0"},"os":{"name":"Linux","version":"6.1"},"ip":"192.0.2.7",\
        "locale":"en-US","userAgent":"Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"},\
        "properties":{"sku":"SKU-\(String(100_000 + number))","price":\(number).25,"quantity":\(number % 9 + 1),\
        "category":"Home & Garden","first_time":false,"coupon":null,"path":"/c/12/p/3456","cart_id":"1f3870be274f6c49"}}
        """
    }
}
