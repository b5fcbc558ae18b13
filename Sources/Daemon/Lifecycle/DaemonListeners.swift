import Assembly
import DaemonConfiguration
import Control
import Page
import Platform

/// Opens the daemon's own listeners: the control socket, the metrics and the page. Clients wait until they are served.
extension Daemon {
    func openMetrics(at address: SocketAddress) throws -> ControlServer {
        // The kernel would refuse this without a reason.
        if let current = metrics?.localAddress, current.overlaps(address) {
            throw OperatorError(
                "control.metrics: the metrics are at \(current) now, which excludes \(address): choose another port, or"
                    + " restart the daemon (systemctl restart penstock)")
        }
        var limits = ControlServer.Limits()
        limits.body = 1 << 10
        do {
            return try ControlServer.open(
                address: address,
                handler: MetricsRequests(clock: clock) { [metricsCollector] in metricsCollector.report() },
                group: group, limits: limits)
        } catch {
            throw OperatorError("control.metrics: \(error)")
        }
    }

    func openControl(_ control: Configuration.Control) throws -> ControlServer {
        try SystemDisk().makeDirectory(Path.directory(of: control.socket), permissions: 0o755)
        return try ControlServer.open(path: control.socket, handler: controlRequests, group: group)
    }

    /// - Returns: the listener, and what `penstock open` must know.
    func openPage(
        at listener: Configuration.PageListener, in control: Configuration.Control
    ) throws -> (server: ControlServer, place: PageReport) {
        let document = PageDocument.shipped
        func requests(_ token: PageToken?) -> PageRequests {
            PageRequests(access: PageAccess(token: token), control: controlRequests, document: document)
        }
        do {
            switch listener {
            case .socket(let path):
                try SystemDisk().makeDirectory(Path.directory(of: path), permissions: 0o755)
                let server = try ControlServer.open(
                    path: path, handler: requests(nil), group: group, policy: document.policy)
                return (server, PageReport(socket: path))
            case .address(let address):
                // The kernel would refuse this without a reason.
                if let current = page?.localAddress, current.overlaps(address) {
                    throw OperatorError("the page is at \(current) now, which excludes \(address): choose another port")
                }
                let directory = Path.directory(of: control.socket)
                try SystemDisk().makeDirectory(directory, permissions: 0o755)
                let token = try PageToken(in: directory)
                let server = try ControlServer.open(
                    address: address, handler: requests(token), group: group, policy: document.policy)
                let url = "http://\(server.localAddress ?? address)/"
                return (server, PageReport(url: url, token: token.text))
            }
        } catch {
            throw OperatorError("control.page: \(error)")
        }
    }

    private var controlRequests: ControlRequests {
        ControlRequests(
            work: work, disk: disk, replays: replays, status: status, files: files, tap: tap, pipeline: pipeline,
            history: history, explanations: explanations, diffs: diffs, page: { [pagePlace] in pagePlace.report })
    }
}
