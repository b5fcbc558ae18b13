/// Sends the token that the destination's provider has obtained (RFC 6750).
package struct BearerSigner: RequestSigner {
    package init() {}

    package func headers(
        signing request: UnsignedRequest, with credential: Credential?, at time: Int64
    ) -> [HTTPOptions.Header] {
        guard case .bearer(let token)? = credential?.proof else { return [] }
        return [.init(name: "Authorization", value: "Bearer \(token)")]
    }

    package func check() {}
}
