import CNats
import Foundation
import PluginTesting

// What the tests of the source do with streams, consumers and leases.
extension NATSClient {
    /// Publishes one message, and waits until the stream has it.
    func publish(_ subject: String, _ text: String, _ headers: [String: String]) throws {
        var message: OpaquePointer?
        unsafe natsMsg_Create(&message, subject, nil, text, Int32(text.utf8.count))
        defer { unsafe natsMsg_Destroy(message) }
        for (name, value) in headers { unsafe natsMsgHeader_Set(message, name, value) }
        guard unsafe js_PublishMsg(nil, context, message, nil, nil) == NATS_OK else {
            throw TestProblem(description: "a message for \(subject) cannot be published")
        }
    }

    /// Publishes the last messages of a stream again, as a broker may deliver them again: without their ids.
    func republish(_ stream: String, last count: UInt64) throws {
        guard let sequences = try self.stream(stream).sequences else { return }
        for sequence in max(sequences.lowerBound, sequences.upperBound - count + 1)...sequences.upperBound {
            var message: OpaquePointer?
            defer { unsafe natsMsg_Destroy(message) }
            unsafe js_GetMsg(&message, context, stream, sequence, nil, nil)
            unsafe natsMsgHeader_Delete(message, "Nats-Msg-Id")
            guard unsafe js_PublishMsg(nil, context, message, nil, nil) == NATS_OK else {
                throw TestProblem(description: "message \(sequence) cannot be published again")
            }
        }
    }

    struct Consumer: Equatable {
        var floor: UInt64
        var delivered: UInt64
        var pending: Int64
    }

    /// Publishes events with these numbers, and waits until the stream has them.
    func publish(
        _ numbers: Range<Int>, to subject: (Int) -> String = { _ in "e" },
        with payload: (Int) -> String = { #"{"n":\#($0)}"# }
    ) throws {
        for number in numbers {
            let text = payload(number)
            // The library refuses to publish an empty message in the other way.
            let status =
                text.isEmpty
                ? unsafe natsConnection_PublishString(connection, subject(number), text)
                : unsafe js_PublishAsync(context, subject(number), text, Int32(text.utf8.count), nil)
            guard status == NATS_OK else { throw TestProblem(description: "message \(number) cannot be published") }
        }
        guard unsafe js_PublishAsyncComplete(context, nil) == NATS_OK else {
            throw TestProblem(description: "messages are not acknowledged")
        }
    }

    func create(_ name: String, subjects: [String], retention: jsRetentionPolicy, maximum: Int64? = nil) throws {
        let texts = unsafe (subjects + [name]).map { unsafe strdup($0) }
        defer {
            var left = unsafe texts[...]
            while let text = unsafe left.popLast() { unsafe free(text) }
        }
        var list = unsafe texts.dropLast().map { unsafe UnsafePointer($0) }
        var configuration = unsafe jsStreamConfig()
        unsafe jsStreamConfig_Init(&configuration)
        let status = unsafe list.withUnsafeMutableBufferPointer { list in
            unsafe configuration.Name = UnsafePointer(texts[subjects.count])
            unsafe configuration.Subjects = list.baseAddress
            unsafe configuration.SubjectsLen = Int32(subjects.count)
            unsafe configuration.Retention = retention
            if let maximum { unsafe configuration.MaxMsgs = maximum }
            return unsafe js_AddStream(nil, context, &configuration, nil, nil)
        }
        guard status == NATS_OK else { throw TestProblem(description: "the stream \(name) cannot be created") }
    }

    func deleteStream(_ name: String) { unsafe js_DeleteStream(context, name, nil, nil) }

    /// Creates a durable pull consumer that only one server of the cluster has.
    /// - Returns: that server's number.
    func createLonelyConsumer(_ stream: String, _ name: String) throws -> Int {
        var configuration = unsafe jsConsumerConfig()
        unsafe jsConsumerConfig_Init(&configuration)
        unsafe configuration.AckPolicy = js_AckExplicit
        unsafe configuration.Replicas = 1
        return try unsafe name.withCString { name in
            unsafe configuration.Durable = name
            var info: UnsafeMutablePointer<jsConsumerInfo>?
            guard unsafe js_AddConsumer(&info, context, stream, &configuration, nil, nil) == NATS_OK,
                let leader = unsafe info?.pointee.Cluster?.pointee.Leader,
                let number = unsafe Int(String(cString: leader).dropFirst())
            else { throw TestProblem(description: "the consumer cannot be created") }
            unsafe jsConsumerInfo_Destroy(info)
            return number
        }
    }

    func deleteConsumer(_ stream: String, _ name: String) {
        unsafe js_DeleteConsumer(context, stream, name, nil, nil)
    }

    func consumer(_ stream: String, _ name: String) -> Consumer? {
        var info: UnsafeMutablePointer<jsConsumerInfo>?
        guard unsafe js_GetConsumerInfo(&info, context, stream, name, nil, nil) == NATS_OK,
            let value = unsafe info?.pointee
        else { return nil }
        defer { unsafe jsConsumerInfo_Destroy(info) }
        return unsafe Consumer(
            floor: value.AckFloor.Stream, delivered: value.Delivered.Stream, pending: value.NumAckPending)
    }

    /// A durable consumer: one that pulls, or one that is pushed to a subject.
    /// - Parameter start: the first sequence that it delivers.
    func addConsumer(_ stream: String, _ name: String, pushTo subject: String? = nil, start: UInt64 = 0) {
        var configuration = unsafe jsConsumerConfig()
        unsafe jsConsumerConfig_Init(&configuration)
        unsafe configuration.AckPolicy = js_AckExplicit
        if start > 0 {
            unsafe configuration.DeliverPolicy = js_DeliverByStartSequence
            unsafe configuration.OptStartSeq = start
        }
        unsafe name.withCString { name in
            unsafe configuration.Durable = name
            guard let subject else {
                unsafe js_AddConsumer(nil, context, stream, &configuration, nil, nil)
                return
            }
            unsafe subject.withCString { subject in
                unsafe configuration.DeliverSubject = subject
                unsafe js_AddConsumer(nil, context, stream, &configuration, nil, nil)
            }
        }
    }

    /// Takes messages of a consumer, and acknowledges none but those with these indices.
    func steal(_ stream: String, _ consumer: String, _ count: Int32, acknowledging indices: Set<Int> = []) -> Int {
        var options = unsafe jsSubOptions()
        unsafe jsSubOptions_Init(&options)
        var subscription: OpaquePointer?
        let status = unsafe stream.withCString { stream in
            unsafe consumer.withCString { consumer in
                unsafe options.Stream = stream
                unsafe options.Consumer = consumer
                return unsafe js_PullSubscribe(&subscription, context, nil, nil, nil, &options, nil)
            }
        }
        defer { unsafe natsSubscription_Destroy(subscription) }
        guard status == NATS_OK else { return 0 }
        var list = unsafe natsMsgList()
        unsafe natsSubscription_Fetch(&list, subscription, count, 2000, nil)
        defer { unsafe natsMsgList_Destroy(&list) }
        for index in indices where index < Int(unsafe list.Count) {
            unsafe natsMsg_AckSync(list.Msgs[index], nil, nil)
        }
        return unsafe Int(list.Count)
    }

    /// Asks a consumer to deliver a message again at once.
    func refuse(_ stream: String, _ consumer: String, _ sequence: UInt64, delivery: UInt64) {
        unsafe natsConnection_PublishString(
            connection, "$JS.ACK.\(stream).\(consumer).1.\(sequence).\(delivery).1700000000000000000.0", "-NAK")
        unsafe natsConnection_Flush(connection)
    }

    /// A bucket whose keys expire.
    func createBucket(_ name: String, seconds: Int64) {
        var configuration = unsafe kvConfig()
        unsafe kvConfig_Init(&configuration)
        unsafe configuration.History = 1
        unsafe configuration.TTL = seconds * 1_000_000_000
        var bucket: OpaquePointer?
        unsafe name.withCString { name in
            unsafe configuration.Bucket = name
            unsafe js_CreateKeyValue(&bucket, context, &configuration)
        }
        unsafe kvStore_Destroy(bucket)
    }

    func put(_ bucket: String, _ key: String, _ value: String) {
        var store: OpaquePointer?
        unsafe js_KeyValue(&store, context, bucket)
        unsafe kvStore_PutString(nil, store, key, value)
        unsafe kvStore_Destroy(store)
    }

    /// nil: the key does not exist. An empty text: its lease was released.
    func value(_ bucket: String, _ key: String) -> String? {
        var store: OpaquePointer?
        unsafe js_KeyValue(&store, context, bucket)
        defer { unsafe kvStore_Destroy(store) }
        var entry: OpaquePointer?
        guard unsafe kvStore_Get(&entry, store, key) == NATS_OK else { return nil }
        defer { unsafe kvEntry_Destroy(entry) }
        return unsafe kvEntry_ValueString(entry).map { unsafe String(cString: $0) } ?? ""
    }
}
