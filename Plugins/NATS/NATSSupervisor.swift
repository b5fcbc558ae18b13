import CNats
import FleetFormat
import PenstockPluginKit

/// The thread of a source: opens a session, runs its lanes, and opens another one when it is lost.
struct NATSSupervisor: Sendable {
    let settings: NATSSourceSettings
    let host: SourceHost
    let offers: PendingOffers<NATSReceipt>
    let lanes: [NATSLane]
    let gate: NATSGate
    let problems: NATSProblems

    func open() throws -> (session: NATSSession, number: Int) {
        let (gate, number) = (gate, gate.nextSession())
        let session = try NATSSession(settings, name: host.name) { gate.lose(number, $0) }
        return (session, number)
    }

    /// - Parameter first: a session that is open.
    func run(_ first: (session: NATSSession, number: Int)?) {
        let owner = NATSOwner(host)
        var wait = Duration.seconds(1)
        var next = first
        while !gate.isStopping {
            do {
                let (session, number) = try next ?? open()
                next = nil
                defer { session.close() }
                let leases = try NATSLeases(
                    session.jetStream, bucket: settings.leases, replicas: session.stream.replicas)
                problems.set(nil, nil)
                wait = .seconds(1)
                runLanes(session, number, leases, owner)
                if let reason = gate.loss(of: number) {
                    problems.clearLanes()
                    problems.set(nil, text("the connection was lost: \(reason)"))
                }
            } catch {
                problems.set(nil, text((error as? NATSError)?.message ?? "\(error)"))
            }
            gate.pause(wait, nil)
            wait = min(wait * 2, .seconds(30))
        }
        next?.session.close()
    }

    /// With the servers' addresses.
    func text(_ problem: String) -> String { "\(settings.connection.servers.joined(separator: ", ")): \(problem)" }
    func text(_ error: NATSError) -> String { text(error.message) }

    private func runLanes(_ session: NATSSession, _ number: Int, _ leases: NATSLeases, _ owner: NATSOwner) {
        let members = NATSMembers(leases, owner, lanes)
        let sharing = JoinableThread { [gate] in
            var lastCount = ContinuousClock.now
            var failures = 0
            while gate.isRunning(number) {
                do throws(NATSError) {
                    try share(members)
                    (lastCount, failures) = (.now, 0)
                } catch {
                    failures += 1
                    if failures == 3 { noteFailure(error, members) }
                    // The others may have come or gone.
                    if .now - lastCount > leases.timeToLive { gate.balance { $0.forget() } }
                }
                gate.awaitCount(members.period, number)
            }
            // Before the lanes are let go: the others then claim them without delay.
            if gate.isStopping, !gate.isEnding, gate.loss(of: number) == nil { members.leave() }
        }
        let threads = lanes.map { lane in
            let reader = NATSLaneReader(
                lane: lane, settings: settings, host: host, offers: offers, gate: gate, problems: problems,
                session: session, number: number, leases: leases, owner: owner)
            gate.begin()
            return JoinableThread { [gate] in
                reader.run()
                gate.finish()
            }
        }
        while let replies = gate.repliesToSend() {
            session.acknowledge(replies.flatMap(\.self))
            gate.sent()
            host.gauge("nats_behind", lanes.reduce(0) { $0 + Double($1.behind) })
        }
        for thread in threads { thread.join() }
        sharing.join()
    }

    private func share(_ members: NATSMembers) throws(NATSError) {
        let hosts = try members.count()
        gate.balance { $0.share(members.lanes, among: hosts, at: .now) }
        host.gauge("nats_hosts", Double(hosts))
    }

    private func noteFailure(_ error: NATSError, _ members: NATSMembers) {
        host.log(
            .warning,
            "the daemons that share the lanes cannot be counted, so the shares may be uneven: \(error.message); has "
                + "the user the permissions for the bucket of the leases?",
            ["bucket": settings.leases])
    }
}
