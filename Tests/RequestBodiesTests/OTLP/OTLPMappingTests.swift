import Events
import RequestBodies
import Testing

/// Which field of an event each part of a log record becomes.
@Suite struct OTLPMappingTests {
    private static let signedUp = #"{"type":"track","event":"Signed Up","userId":"u1""#

    @Test(arguments: [OTLPLogs.Encoding.protobuf, .json])
    func `a request of the Python SDK becomes events`(_ encoding: OTLPLogs.Encoding) throws {
        let body = encoding == .json ? OTLPSample.pythonJSON : OTLPSample.python
        let lines = try OTLPSample.lines(body, encoding)
        let context =
            #""context":{"app":{"name":"shop","version":"2.1.0"},"device":{"name":"Pixel"},"os":{"name":"Debian"},"#
            + #""library":{"name":"shop.checkout","version":"1.4"},"otel":{"resource":{"service.name":"shop","#
            + #""service.version":"2.1.0","service.instance.id":"i-7","os.name":"Debian","#
            + #""device.model.name":"Pixel"},"scope":{"team":"orders"},"#
        #expect(
            OTLPSample.texts(lines) == [
                #"{"type":"track","event":"Order Completed","userId":"u1","anonymousId":"s-9","messageId":"order-17","#
                    + #""timestamp":"2026-01-01T12:00:00.123456789Z",\#(context)"severity_number":9,"#
                    + #""severity_text":"INFO","trace_id":"0102030405060708090a0b0c0d0e0f10","#
                    + #""span_id":"1112131415161718","flags":1,"observed_time":"2026-01-01T12:00:00.123457789Z"}},"#
                    + #""properties":{"session.id":"s-9","total":19.9,"items":3,"gift":true,"#
                    + #""note":"naïve \"quote\" \n","tags":["a","b"],"nested":{"k":[1,{"x":null}]},"raw":"AP8="}}"#,
                #"{"type":"track","event":"Order Cancelled","userId":"u2","#
                    + #""timestamp":"2026-01-01T12:00:00.123456789Z",\#(context)"#
                    + #""observed_time":"2026-01-01T12:00:00.123457789Z"}},"#
                    + #""properties":{"total":5,"currency":"USD"}}"#,
                #"{"type":"track","event":"Receipt Printed","anonymousId":"i-7","#
                    + #""timestamp":"2026-01-01T12:00:00.123456789Z",\#(context)"#
                    + #""observed_time":"2026-01-01T12:00:00.123456789Z"}},"properties":{"body":"a receipt"}}"#,
            ])
        #expect(lines.items == [0, 1, 3])
        #expect(lines.refused.map(\.item) == [2])
        #expect(lines.refused.map(\.refusal.reason) == [.eventNotDefined])
        #expect(lines.refused.first?.refusal.detail.contains("set event_name") == true)
    }

    @Test(arguments: [OTLPLogs.Encoding.protobuf, .json])
    func `the scanner accepts every line`(_ encoding: OTLPLogs.Encoding) throws {
        let lines = try OTLPSample.lines(encoding == .json ? OTLPSample.pythonJSON : OTLPSample.python, encoding)
        let scanner = EventScanner(maximumEventSize: 32_768, maximumDepth: 64)
        var accepted: [ScannedEvent] = []
        var refused: [ScannedRefusal] = []
        _ = scanner.scan(lines.bytes.span, accepted: &accepted, refused: &refused)
        #expect(accepted.count == 3)
        #expect(refused.isEmpty)
    }

    @Test func `a record without further fields is a small event`() throws {
        #expect(try OTLPSample.line(OTLPSample.record) == Self.signedUp + #","properties":{}}"#)
    }

    @Test func `the field event_name wins over the attribute`() throws {
        let record = OTLPSample.record.attribute(6, "event.name", "Old")
        #expect(try OTLPSample.line(record) == Self.signedUp + #","properties":{"event.name":"Old"}}"#)
        let old = ProtobufMessage().attribute(6, "event.name", "Old").attribute(6, "user.id", "u1").text(12, "")
        #expect(try OTLPSample.line(old) == #"{"type":"track","event":"Old","userId":"u1","properties":{}}"#)
    }

    @Test(
        arguments: [
            // record, resource, ids, properties
            (["user.id", "enduser.id"], [], #""userId":"user.id""#, #""enduser.id":"enduser.id""#),
            (["enduser.id"], ["user.id"], #""userId":"enduser.id""#, ""),
            ([], ["enduser.id", "service.name"], #""userId":"enduser.id""#, ""),
            (["session.id", "device.id"], [], #""anonymousId":"device.id""#, #""session.id":"session.id""#),
            (["session.id"], ["device.id"], #""anonymousId":"device.id""#, #""session.id":"session.id""#),
            (
                ["device.id", "user.id"], ["app.installation.id"],
                #""userId":"user.id","anonymousId":"app.installation.id""#, #""device.id":"device.id""#
            ),
            (["session.id"], ["service.name"], #""anonymousId":"session.id""#, #""session.id":"session.id""#),
            ([], ["session.id", "service.name"], #""anonymousId":"session.id""#, ""),
            ([], ["service.name", "host.name", "host.id"], #""anonymousId":"host.id""#, ""),
            ([], ["service.name", "host.name"], #""anonymousId":"host.name""#, ""),
            ([], ["service.name", "service.instance.id"], #""anonymousId":"service.instance.id""#, ""),
            ([], ["service.name"], #""anonymousId":"service.name""#, ""),
        ] as [([String], [String], String, String)])
    func `ids come from the most lasting attribute`(
        _ record: [String], _ resource: [String], _ ids: String, _ properties: String
    ) throws {
        var message = ProtobufMessage().text(12, "E")
        for key in record { message = message.attribute(6, key, key) }
        var origin = ProtobufMessage()
        for key in resource { origin = origin.attribute(1, key, key) }
        let line = try OTLPSample.line(message, resource: origin)
        #expect(line.hasPrefix(#"{"type":"track","event":"E",\#(ids),"#))
        #expect(line.hasSuffix(#","properties":{\#(properties)}}"#))
    }

    @Test func `an integer is an id, and other values are not`() throws {
        let record = ProtobufMessage().text(12, "E")
        let number = record.attribute(6, "user.id", ProtobufMessage().varint(3, UInt64(bitPattern: .min)))
        #expect(try OTLPSample.line(number).contains(#""userId":"-9223372036854775808","properties":{}"#))
        let list = record.attribute(6, "user.id", ProtobufMessage().message(5, ProtobufMessage()))
            .attribute(6, "enduser.id", "").attribute(6, "session.id", "s")
        #expect(
            try OTLPSample.line(list).hasSuffix(
                #""anonymousId":"s","properties":{"user.id":[],"enduser.id":"","session.id":"s"}}"#))
    }

    @Test func `a record without any id is refused`() throws {
        let line = try OTLPSample.line(ProtobufMessage().text(12, "E"), resource: ProtobufMessage())
        #expect(line.hasPrefix("no_user_anon_id: "))
        #expect(line.contains("user.id"))
    }

    @Test func `messageId has at most 100 characters`() throws {
        let longest = String(repeating: "é", count: 100)
        let line = try OTLPSample.line(OTLPSample.record.attribute(6, "log.record.uid", longest))
        #expect(line == Self.signedUp + #","messageId":"\#(longest)","properties":{}}"#)
        let longer = try OTLPSample.line(OTLPSample.record.attribute(6, "log.record.uid", longest + "e"))
        #expect(longer == Self.signedUp + #","properties":{"log.record.uid":"\#(longest)e"}}"#)
    }

    @Test func `a refusal names the messageId`() throws {
        let record = ProtobufMessage().attribute(6, "log.record.uid", "m1")
        #expect(try OTLPSample.lines(OTLPSample.request([record])).refused.first?.refusal.messageID == "m1")
    }

    @Test(
        arguments: [
            (0, 0, ""), (1, 0, "1970-01-01T00:00:00.000000001Z"), (0, 1_500_000_000, "1970-01-01T00:00:01.500Z"),
            (UInt64(Int64.max), 7, "2262-04-11T23:47:16.854775807Z"), (.max, 0, "2554-07-21T23:34:33.709551615Z"),
        ] as [(UInt64, UInt64, String)])
    func `the time is the record's own, or when it was observed`(_ time: UInt64, _ observed: UInt64, _ text: String)
        throws
    {
        let line = try OTLPSample.line(OTLPSample.record.fixed64(1, time).fixed64(11, observed))
        #expect(line.contains(#""timestamp":"\#(text)""#) == !text.isEmpty)
        #expect(line.contains("observed_time") == (observed > 0))
    }

    @Test func `the context names app, device, system, library and client`() throws {
        var resource = ProtobufMessage()
        for key in [
            "service.name", "service.version", "service.namespace", "app.build_id", "device.id", "device.manufacturer",
            "device.model.identifier", "device.model.name", "os.name", "os.version", "user_agent.original",
        ] {
            resource = resource.attribute(1, key, key.uppercased())
        }
        resource = resource.attribute(1, "client.address", "10.0.0.1")
        let scope = ProtobufMessage().text(1, "lib").text(2, "")
        let record = OTLPSample.record.attribute(6, "user_agent.original", "curl/8")
        #expect(
            try OTLPSample.line(record, resource: resource, scope: scope) == Self.signedUp
                + #","anonymousId":"DEVICE.ID","context":{"app":{"name":"SERVICE.NAME","version":"SERVICE.VERSION","#
                + #""namespace":"SERVICE.NAMESPACE","build":"APP.BUILD_ID"},"device":{"id":"DEVICE.ID","#
                + #""manufacturer":"DEVICE.MANUFACTURER","model":"DEVICE.MODEL.IDENTIFIER","#
                + #""name":"DEVICE.MODEL.NAME"},"os":{"name":"OS.NAME","version":"OS.VERSION"},"#
                + #""library":{"name":"lib"},"ip":"10.0.0.1","userAgent":"curl/8","otel":{"resource":{"#
                + #""service.name":"SERVICE.NAME","service.version":"SERVICE.VERSION","#
                + #""service.namespace":"SERVICE.NAMESPACE","app.build_id":"APP.BUILD_ID","#
                + #""device.manufacturer":"DEVICE.MANUFACTURER","device.model.identifier":"DEVICE.MODEL.IDENTIFIER","#
                + #""device.model.name":"DEVICE.MODEL.NAME","os.name":"OS.NAME","os.version":"OS.VERSION"}}},"#
                + #""properties":{}}"#)
    }

    @Test(
        arguments: [
            ("192.168.0.1", true), ("::1", true), ("2001:DB8::a", true), ("::ffff:10.0.0.1", true),
            ("db.example", false),
            ("cafe.de", false), ("/run/s.sock", false), ("", false), ("localhost", false), ("7", false),
            (String(repeating: "1.", count: 23), false),
        ]) func `only an IP address is the context's ip`(_ address: String, _ isAddress: Bool) throws
    {
        let own = try OTLPSample.line(OTLPSample.record.attribute(6, "client.address", address))
        let tail =
            isAddress
            ? #","context":{"ip":"\#(address)"},"properties":{}}"# : #","properties":{"client.address":"\#(address)"}}"#
        #expect(own == Self.signedUp + tail)
        let resource = ProtobufMessage().attribute(1, "client.address", address)
        let common = try OTLPSample.line(OTLPSample.record, resource: resource)
        #expect(common.contains(#""context":{"ip":"\#(address)"}"#) == isAddress)
        #expect(common.contains(#""resource":{"client.address""#) == !isAddress)
    }

    @Test func `the fields of a body that is a list are properties, and attributes win`() throws {
        let body = ProtobufMessage().message(
            6,
            ProtobufMessage().attribute(1, "a", "body").attribute(1, "b", "body").attribute(1, "user.id", "not me"))
        let record = OTLPSample.record.message(5, body).attribute(6, "a", "attribute")
        #expect(try OTLPSample.line(record) == Self.signedUp + #","properties":{"b":"body","a":"attribute"}}"#)
        let anonymous = ProtobufMessage().text(12, "E").message(5, body)
        #expect(try OTLPSample.line(anonymous).hasPrefix("no_user_anon_id"))
    }

    @Test func `any other body is the property body, unless an attribute has that name`() throws {
        let text = OTLPSample.record.message(5, ProtobufMessage().text(1, ""))
        #expect(try OTLPSample.line(text) == Self.signedUp + #","properties":{"body":""}}"#)
        #expect(
            try OTLPSample.line(text.attribute(6, "body", "mine")) == Self.signedUp + #","properties":{"body":"mine"}}"#
        )
        let empty = OTLPSample.record.message(5, ProtobufMessage())
        #expect(try OTLPSample.line(empty) == Self.signedUp + #","properties":{}}"#)
    }

    @Test func `ids of traces and spans have their size and are not zero`() throws {
        func line(_ trace: [UInt8], _ span: [UInt8]) throws -> String {
            try OTLPSample.line(OTLPSample.record.bytes(9, trace).bytes(10, span))
        }
        let zeros = [UInt8](repeating: 0, count: 16)
        #expect(try line(zeros, Array(zeros.prefix(8))) == Self.signedUp + #","properties":{}}"#)
        #expect(try line([1, 2], Array(repeating: 1, count: 9)) == Self.signedUp + #","properties":{}}"#)
        #expect(
            try line(zeros.dropLast() + [1], []).contains(#""otel":{"trace_id":"00000000000000000000000000000001"}"#))
    }
}
