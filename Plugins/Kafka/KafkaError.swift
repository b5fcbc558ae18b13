import CKafka

/// An error of the library.
struct KafkaError: Error, Equatable {
    /// Whose fault it is.
    enum Blame {
        /// The message's: it can never be delivered.
        case message
        /// A message's of the request, if the request had several.
        case request
        /// The producer's, the cluster's or the configuration's: another attempt may succeed.
        case none
    }

    var code: rd_kafka_resp_err_t

    var message: String {
        let text = unsafe rd_kafka_err2str(code).map { unsafe String(cString: $0) } ?? "error"
        let name = unsafe rd_kafka_err2name(code).map { unsafe String(cString: $0) } ?? "\(code.rawValue)"
        return "\(text) (\(name))"
    }

    /// For an error of a broker.
    var blame: Blame {
        switch code {
        case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE,
            RD_KAFKA_RESP_ERR_INVALID_RECORD:
            .request
        // Authorization, missing topics and policies are the operator's to mend: the events wait.
        default: .none
        }
    }
}
