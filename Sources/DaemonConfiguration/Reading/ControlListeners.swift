import Platform

/// Checks the TCP listeners of `control:`. Two listeners cannot have one port of an address, and only the metrics may
/// be at an address that other machines can reach.
struct ControlListeners {
    let draft: ConfigurationDraft
    /// The listeners of the sources.
    var earlier: [(address: SocketAddress, name: String, place: Place)]
    let diagnostics: Diagnostics

    mutating func check() {
        checkMetrics()
        checkPage()
    }

    private mutating func checkMetrics() {
        guard let metrics = draft.control.metrics, let entry = draft.found["control.metrics"] else { return }
        checkPort(of: metrics, at: entry.value.place, hint: "give the metrics their own port")
        let flag = draft.found["control.metrics_insecure"]
        if !metrics.isLoopback, !draft.control.metricsInsecure, flag?.isBroken != true {
            diagnostics.error(
                at: entry.value.place,
                "other machines can reach \(metrics), and everybody on the network could read the metrics",
                hint: "use 127.0.0.1:\(metrics.port), which a collector on this machine or a proxy reads;"
                    + " metrics_insecure: true allows it on a network that you trust")
        }
        earlier.append((metrics, "the listener of the metrics", entry.value.place))
    }

    private func checkPage() {
        guard case .address(let page) = draft.control.page, let entry = draft.found["control.page"] else { return }
        checkPort(of: page, at: entry.value.place, hint: "give the page its own port")
        if !page.isLoopback {
            diagnostics.error(
                at: entry.value.place,
                "other machines can reach \(page), and events and the page's token would cross the network unencrypted",
                hint: "use 127.0.0.1:\(page.port), and open the page from another machine through ssh:"
                    + " ssh -L \(page.port):127.0.0.1:\(page.port) HOST")
        }
    }

    private func checkPort(of address: SocketAddress, at place: Place, hint: String) {
        guard let owner = earlier.first(where: { $0.address.overlaps(address) }) else { return }
        diagnostics.error(
            at: place, "\(owner.name) listens at \(owner.address) already", hint: hint,
            note: .init("it is named here", at: owner.place))
    }
}
