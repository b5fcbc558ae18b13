/// The answer to `GET /page` on the control socket: where the page is, and how to open it.
package struct PageReport: Codable, Sendable, Equatable {
    /// `http://127.0.0.1:9378/`; nil: the page is at a Unix socket.
    package var url: String?
    /// What a browser must present; nil: the page is at a Unix socket.
    package var token: String?
    /// The path of the Unix socket.
    package var socket: String?

    package init(url: String? = nil, token: String? = nil, socket: String? = nil) {
        self.url = url
        self.token = token
        self.socket = socket
    }
}

/// The answer to `GET /filter?where=FQL`.
package struct FilterReport: Codable, Sendable, Equatable {
    /// The fault of an invalid filter.
    package struct Fault: Codable, Sendable, Equatable {
        /// The place of the fault in UTF-8 bytes from the start of the text, and its length; 0: something is missing.
        package var column: Int
        package var length: Int
        package var message: String
        package var hint: String?

        package init(column: Int, length: Int, message: String, hint: String?) {
            self.column = column
            self.length = length
            self.message = message
            self.hint = hint
        }
    }

    /// nil: the filter is valid.
    package var fault: Fault?

    package init(fault: Fault?) { self.fault = fault }
}

/// The request of `POST /explain`: an event of the journal, or the text of an event.
package struct ExplainOrder: Codable, Sendable, Equatable {
    /// An event of the journal.
    package var position: UInt64?
    /// The event as a client would send it.
    package var event: String?
    /// The source that receives `event`; nil: the first one.
    package var source: String?

    package init(position: UInt64? = nil, event: String? = nil, source: String? = nil) {
        self.position = position
        self.event = event
        self.source = source
    }
}
