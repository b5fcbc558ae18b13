import Delivery
import Destinations
import Events
import Foundation
import PluginHosting
import PluginTesting
import Synchronization
import TestSupport
import Testing

/// Lost connections, ended servers and processes, locks and transactions that fail.
@Suite struct PostgresFailureTests {
    private func shared() throws -> PostgresTest { try PostgresTest(on: PostgresServer.sharedServer()) }

    @Test func `a server that does not run is an error, and the destination opens once it runs`() throws {
        let server = try PostgresServer()
        try server.start()
        let test = try PostgresTest(on: server)
        server.stop(SIGINT)
        let stage = try PluginStage("postgres", in: test.directory, settings: test.settings())
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        #expect(error?.description.contains("Is the server running locally and accepting connections") == true)
        try server.start()
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
    }

    @Test(arguments: [SIGKILL, SIGQUIT, SIGINT])
    func `a server that ends in mid-stream costs only retries`(signal: Int32) throws {
        let server = try PostgresServer()
        try server.start()
        let test = try PostgresTest(on: server)
        let stage = try test.open()
        #expect(stage.outcomes(stage.offer([1, 2]), count: 2) == [.delivered, .delivered])
        server.stop(signal)
        for _ in 0..<3 {
            let outcomes = try #require(stage.outcomes(stage.offer([3, 4]), count: 2))
            guard case .retry(let reason, _, _) = outcomes[0] else {
                Issue.record("\(outcomes)")
                return
            }
            #expect(reason.contains("PostgreSQL: ") || reason.contains("connection to server"), "\(reason)")
        }
        try server.start()
        #expect(stage.deliver([3, 4]))
        #expect(try test.rows("SELECT position FROM events ORDER BY 1") == ["1", "2", "3", "4"].map { [$0] })
        #expect(try stage.destination.checkpoint() == [4, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test func `a connection that an administrator ends is opened again`() throws {
        let test = try shared()
        let stage = try test.open()
        _ = stage.offer([1])
        _ = try test.rows(
            """
            SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'penstock'
            """)
        let outcome = stage.outcomes(stage.offer([2]), count: 1)?.first
        guard case .retry(let reason, _, _) = outcome else {
            Issue.record("\(String(describing: outcome))")
            return
        }
        #expect(reason.contains("terminating connection due to administrator command"), "\(reason)")
        #expect(stage.deliver([2]))
    }

    @Test func `a batch is retried while another transaction locks the table`() throws {
        let test = try shared()
        let stage = try test.open(#","timeout":"1s""#)
        _ = stage.offer([1])
        let client = try PostgresClient(test.dsn)
        try client.query("BEGIN; LOCK TABLE events")
        let outcomes = try #require(stage.outcomes(stage.offer([2]), count: 1))
        #expect(
            [
                Outcome.retry(reason: "PostgreSQL: canceling statement due to statement timeout"),
                .retry(reason: "PostgreSQL: the server did not answer in time"),
            ].contains(outcomes[0]), "\(outcomes)")
        try client.query("ROLLBACK")
        #expect(stage.deliver([2]))
        #expect(try test.rows("SELECT position FROM events ORDER BY 1") == [["1"], ["2"]])
    }

    @Test func `a server that hangs costs only a retry`() throws {
        let test = try shared()
        let stage = try test.open(#","timeout":"1s""#)
        let client = try PostgresClient(test.dsn)
        let backends = try PostgresServer.backends(client)
        defer { for backend in backends { kill(backend, SIGCONT) } }
        for backend in backends { try SuspendedProcess.suspend(backend) }
        #expect(
            stage.outcomes(stage.offer([1]), count: 1) == [
                .retry(reason: "PostgreSQL: the server did not answer in time")
            ])
        #expect(stage.deliver([1]))
        for backend in backends { kill(backend, SIGCONT) }
        #expect(pluginEventually { (try? PostgresServer.backends(client))?.count == 1 })
        #expect(try test.rows("SELECT count(*) FROM events") == [["1"]])
    }

    @Test(arguments: ["40001", "40P01", "53100", "53200", "55P03"])
    func `a transaction that fails for no fault of a row is retried`(state: String) throws {
        let test = try shared()
        try test.open().destination.close()
        _ = try test.rows(
            """
            CREATE TABLE trouble AS SELECT 1 AS is_on;
            CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF EXISTS (SELECT FROM trouble) THEN RAISE 'trouble' USING ERRCODE = '\(state)'; END IF; RETURN new;
            END $$;
            CREATE TRIGGER fail BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION fail()
            """)
        let stage = try test.open()
        let retry = Outcome.retry(reason: "PostgreSQL: trouble")
        #expect(stage.outcomes(stage.offer([1, 2]), count: 2) == [retry, retry])
        _ = try test.rows("DELETE FROM trouble")
        #expect(stage.outcomes(stage.offer([1, 2]), count: 2) == [.delivered, .delivered])
        // By the way of existing rows.
        _ = try test.rows("INSERT INTO trouble VALUES (1)")
        #expect(stage.outcomes(stage.offer([2, 3]), count: 2) == [retry, retry])
        _ = try test.rows("DELETE FROM trouble")
        #expect(stage.outcomes(stage.offer([2, 3]), count: 2) == [.delivered, .delivered])
        #expect(try test.rows("SELECT position FROM events ORDER BY 1") == [["1"], ["2"], ["3"]])
    }

    @Test func `every isolation level is fine`() throws {
        let test = try shared()
        _ = try test.rows("ALTER DATABASE \(test.database) SET default_transaction_isolation = 'serializable'")
        let stage = try test.open()
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        #expect(stage.outcomes(stage.offer([1, 2]), count: 2) == [.delivered, .delivered])
    }

    @Test func `a missing table is created again, and the batch is retried`() throws {
        let test = try shared()
        let stage = try test.open()
        _ = stage.offer([1])
        _ = try test.rows("DROP TABLE events")
        #expect(
            stage.outcomes(stage.offer([2]), count: 1) == [
                .retry(reason: #"PostgreSQL: relation "public.events" does not exist"#)
            ])
        #expect(stage.deliver([2]))
        #expect(try test.rows("SELECT position FROM events") == [["2"]])
    }

    @Test func `rows that another connection commits late are not stored twice`() throws {
        let test = try shared()
        let stage = try test.open()
        _ = stage.offer([1])
        // Behind the plugin's back, as the last transaction of a process that was killed.
        _ = try test.rows(
            "INSERT INTO events (position, part, received_at, kind, timestamp) VALUES (2, 0, now(), 'late', now())")
        #expect(stage.outcomes(stage.offer([2, 3]), count: 2) == [.delivered, .delivered])
        #expect(
            try test.rows("SELECT position, kind FROM events ORDER BY 1") == [
                ["1", "track"], ["2", "late"], ["3", "track"],
            ])
    }

    @Test func `after a restore from a backup, later events are delivered again`() throws {
        let test = try shared()
        let stage = try test.open()
        _ = stage.offer([1, 2])
        let backup = try #require(try stage.destination.checkpoint())
        _ = stage.offer([3, 4])
        let latest = try #require(try stage.destination.checkpoint())
        #expect(backup != latest)
        // The restore, as a failover to a replica that had not received the last transactions.
        _ = try test.rows(
            """
            DELETE FROM events WHERE position > 2; UPDATE penstock_position SET position = 2;
            SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'penstock'
            """)
        #expect(stage.outcomes(stage.offer([5]), count: 1) != [.delivered])
        // The stored position must not hide that 3 and 4 are missing.
        #expect(stage.outcomes(stage.offer([5]), count: 1) != [.delivered])
        #expect(try test.rows("SELECT position FROM penstock_position") == [["2"]])
        #expect(stage.destination.failure != nil)
        #expect(throws: PluginError.self) { try stage.destination.checkpoint() }
        // The worker opens the destination again at its last cursor.
        stage.destination.close()
        #expect(try stage.destination.open(from: Cursor(position: 5, state: latest)) == 3)
        #expect(stage.outcomes(stage.offer([3, 4, 5]), count: 3) == [.delivered, .delivered, .delivered])
        #expect(try test.rows("SELECT position FROM events ORDER BY 1") == ["1", "2", "3", "4", "5"].map { [$0] })
        #expect(try stage.destination.checkpoint() == [5, 0, 0, 0, 0, 0, 0, 0])
    }

    /// Each round ends something at a random moment of the load.
    @Test(arguments: [Victim.plugin, .backend, .server])
    func `each event is one row after twenty kills under load`(victim: Victim) throws {
        let server = try PostgresServer()
        try server.start()
        let test = try PostgresTest(on: server)
        let load = try PostgresLoad(test)
        defer { load.end() }
        let rounds = 20
        for round in 0..<rounds {
            // The load goes on between the kills.
            let before = load.delivered
            #expect(pluginEventually { load.delivered >= before + 200 }, "round \(round): \(load.problem)")
            usleep(UInt32.random(in: 0..<5000))
            switch victim {
            case .plugin: #expect(pluginEventually { load.killPlugin() })
            case .backend:
                for backend in try PostgresServer.backends(PostgresClient(test.dsn)) { kill(backend, SIGKILL) }
                // The server ends all connections, and recovers.
                #expect(pluginEventually { (try? PostgresClient(test.dsn)) != nil })
            case .server:
                server.stop(SIGKILL)
                try server.start()
            }
        }
        let before = load.delivered
        #expect(pluginEventually { load.delivered >= before + 200 })
        load.end()
        let count = load.delivered
        #expect(
            try test.rows("SELECT count(*), count(DISTINCT position), min(position), max(position) FROM events") == [
                ["\(count)", "\(count)", "0", "\(count - 1)"]
            ])
        #expect(try test.rows("SELECT position FROM penstock_position") == [["\(count - 1)"]])
        #expect(load.interruptions >= rounds / 2, "the kills hit the load")
    }

    enum Victim: CaseIterable { case plugin, backend, server }
}
