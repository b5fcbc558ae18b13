import Control

/// Decides whether a request to the page may be carried out. Pure.
///
/// - At an address, every user of the machine can connect, so a request needs the token.
/// - A website in the person's browser can send requests to the page, too. It does not have the token, but at a Unix
///   socket behind a tunnel there is none. So a request of another origin is refused, and a POST without an origin. The
///   listener has refused any other name in `Host` before (DNS rebinding).
struct PageAccess: Sendable {
    struct Refusal: Equatable {
        var status: Int
        var message: String
    }

    /// nil: the page is at a Unix socket.
    var token: PageToken?

    /// - Returns: nil: it may.
    func refusal(of request: ControlRequest) -> Refusal? {
        let origin = request.fields["origin"]
        if let origin, !isOwn(origin, host: request.fields["host"]) {
            return Refusal(status: 403, message: "the page takes no requests from other websites")
        }
        if request.method == .post, origin == nil {
            return Refusal(
                status: 403,
                message: "a POST needs the field Origin, as browsers send it; programs use the control socket")
        }
        guard let token else { return nil }
        let scheme = "Bearer "
        guard let given = request.fields["authorization"], given.hasPrefix(scheme) else {
            return Refusal(status: 401, message: "the page needs a token: open the address that penstock open prints")
        }
        guard token.equals(String(given.dropFirst(scheme.count))) else {
            return Refusal(
                status: 401, message: "this token is not valid any more: open the address that penstock open prints")
        }
        return nil
    }

    private func isOwn(_ origin: String, host: String?) -> Bool {
        guard let host else { return false }
        // A tunnel may end in a proxy with TLS on the person's machine.
        return origin == "http://" + host || origin == "https://" + host
    }
}
