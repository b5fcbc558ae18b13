import Platform

/// The HTTP keys of a source: the checks that need several of them, and their values with secrets filled in.
struct HTTPSource {
    let located: Located<SourceDraft>
    /// Fills in a secret.
    let resolve: (SecretTemplate) -> ConcealedText
    /// Whether the secret of this name was read. Otherwise its value is empty, and that is reported elsewhere.
    let isRead: (String) -> Bool
    let diagnostics: Diagnostics

    private var draft: HTTPListenerDraft { located.draft.http }

    func fill(_ source: inout Configuration.Source) {
        source.writeKeys = writeKeys()
        source.http = listener()
        checkKeys()
        checkSizes(source)
    }

    private func isGiven(_ key: String) -> Bool { located.found[key] != nil }
    private func isBroken(_ key: String) -> Bool { located.found[key]?.isBroken == true }
    private func placeOfKey(_ key: String) -> Place { located.found[key]?.place ?? located.place }

    // MARK: The listener

    private func listener() -> Configuration.HTTPListener? {
        let tls = tls()
        guard let address = draft.address else {
            for key in ["tls", "insecure"] where isGiven(key) && !isGiven("http") {
                diagnostics.error(
                    at: placeOfKey(key), "\(quoted(key)) needs \(quoted("http"))",
                    hint: "add http: 127.0.0.1:8377, or remove \(key)")
            }
            return nil
        }
        if !address.isLoopback, !isGiven("tls"), !draft.insecure, !isBroken("insecure") {
            diagnostics.error(
                at: located.place(of: "http"),
                "other machines can reach \(address), and without TLS everybody on the network can read write keys and"
                    + " events",
                hint: "add tls: { certificate: PATH, key: PATH }, or use 127.0.0.1 behind a proxy that does TLS;"
                    + " insecure: true allows it on a network that you trust")
        }
        return .init(address: address, tls: tls, insecure: draft.insecure)
    }

    private func tls() -> Configuration.HTTPListener.TLS? {
        guard isGiven("tls"), !isBroken("tls") else { return nil }
        guard let certificate = draft.certificate else {
            diagnostics.error(
                at: placeOfKey("tls"), "\"tls\" needs \"certificate\"",
                hint: "add certificate: PATH, the PEM file with the server's certificate")
            return nil
        }
        var tls = Configuration.HTTPListener.TLS(certificate: certificate, clientCA: draft.clientCA)
        switch draft.key {
        case .file(let path): tls.key = .file(path)
        case .secret(let template):
            if let secret = secret(template) { tls.key = .secret(secret) }
        case nil: break
        }
        return tls
    }

    private func secret(_ template: SecretTemplate) -> Secret? {
        for case .secret(let secret) in resolve(template).pieces { return secret }
        return nil
    }

    // MARK: Write keys

    /// Keys that are shorter can be guessed.
    private static let shortest = 8

    private func writeKeys() -> [Secret] {
        if isGiven("http"), !isBroken("write_keys"), located.draft.writeKeys.isEmpty {
            diagnostics.error(
                at: isGiven("write_keys") ? located.place(of: "write_keys") : placeOfKey("http"),
                "\"http\" needs at least one write key: otherwise every user of this machine, and every website in a"
                    + " browser on it, could send events",
                hint: "add write_keys: [!secret NAME]")
        }
        var names: Set<String> = []
        return located.draft.writeKeys.compactMap { template in
            guard case .secret(let name, let place, _)? = template.pieces.first, let secret = secret(template) else {
                return nil
            }
            guard names.insert(name).inserted else {
                diagnostics.error(
                    at: place, "the secret \(name) is named twice", hint: "remove one of the two")
                return nil
            }
            if isRead(name) { check(secret, at: place) }
            return secret
        }
    }

    private func check(_ secret: Secret, at place: Place) {
        let key = secret.plain
        if key.isEmpty {
            diagnostics.error(
                at: place, "the write key \(secret.name) is empty, so it would admit everybody",
                hint: "write a random key into its file, such as the output of: openssl rand -hex 16")
        } else if key.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            diagnostics.error(
                at: place, "the write key \(secret.name) holds a control character, which no client can send",
                hint: "a write key is one line of text")
        } else if key.utf8.count < Self.shortest {
            diagnostics.warning(
                at: place, "the write key \(secret.name) has less than \(Self.shortest) bytes, so it can be guessed",
                hint: "write a random key into its file, such as the output of: openssl rand -hex 16")
        } else if key.contains(":") {
            diagnostics.warning(
                at: place,
                "the write key \(secret.name) holds a colon, so clients that send it by Basic authentication are"
                    + " refused",
                hint: "use a key without a colon")
        }
    }

    // MARK: Keys that belong together

    /// Without the Unix socket, its keys would seem to protect the listener.
    private func checkKeys() {
        guard isGiven("http"), !isGiven("socket"), !isGiven("datagram") else { return }
        for key in ["mode", "group", "allow"] where isGiven(key) {
            diagnostics.error(
                at: placeOfKey(key), "\(quoted(key)) is about the Unix socket, and this source has none",
                hint: "add socket: PATH, or remove \(key)")
        }
    }

    private func checkSizes(_ source: Configuration.Source) {
        let size = source.httpLimits.batchSize
        if size > source.maximumBuffered, !isBroken("max_batch_size"), !isBroken("max_buffered") {
            let key = isGiven("max_batch_size") ? "max_batch_size" : "max_buffered"
            diagnostics.error(
                at: located.place(of: key),
                "a batch of \(Quantity.text(size)) (max_batch_size) does not fit into max_buffered, which is"
                    + " \(Quantity.text(source.maximumBuffered))",
                hint: "make max_batch_size smaller, or max_buffered larger")
        }
        guard isGiven("http") || isGiven("max_batch_size"), size < source.maximumEventSize,
            !isBroken("max_batch_size"), !isBroken("max_event_size")
        else { return }
        diagnostics.warning(
            at: located.place(of: isGiven("max_batch_size") ? "max_batch_size" : "max_event_size"),
            "an event of \(Quantity.text(source.maximumEventSize)) (max_event_size) does not fit into max_batch_size,"
                + " which is \(Quantity.text(size))",
            hint: "make max_batch_size larger, or max_event_size smaller")
    }
}
