import Foundation
import Testing

/// The installed service under a real systemd. A disposable guest boots once, and `Tests/Support/service-checks` runs
/// all checks in it. Each check is a test case here.
@Suite(.serialized)
struct ServiceTests {
    @Test(arguments: ServiceChecks.names)
    func `a check of the installed service passes`(_ check: String) {
        let report = ServiceChecks.report
        let verdict = report.verdicts[check] ?? "not ok: there is no line for it. The guest ended with \(report.end)"
        #expect(verdict == "ok", "\(report.log(of: check))")
    }

    @Test func `every check is a test case`() {
        #expect(Set(ServiceChecks.report.verdicts.keys).subtracting(ServiceChecks.names).sorted() == [])
    }
}

/// The results of the guest's script.
struct ServiceChecks {
    static let names = [
        "starts_and_is_ready",
        "status_is_a_sentence",
        "units_hold_no_mistake",
        "exposure_is_low",
        "members_may_send",
        "others_may_not",
        "status_has_exit_codes",
        "reload_returns_when_it_serves",
        "bad_reload_changes_nothing",
        "reload_turns_no_client_away",
        "watchdog_restarts_it",
        "short_watchdog_lets_it_live",
        "segv_loses_nothing",
        "killed_again_and_again_in_mid_stream",
        "invalid_configuration_is_not_tried_again",
        "clients_wait_for_a_valid_configuration",
        "failing_start_heals_with_its_clients_waiting",
        "clients_do_not_notice_restarts",
        "clients_do_not_notice_kills",
        "stop_is_quick_while_clients_send",
        "a_crowd_of_clients_is_kept_as_far_as_it_fits",
        "connection_starts_it",
        "restarts_lose_no_connection",
        "lines_wait_in_the_socket",
        "requests_over_tcp_wait_in_the_socket",
        "datagrams_wait_in_their_socket",
        "unread_datagrams_are_reported",
        "stop_is_clean_and_loses_nothing",
        "stop_waits_for_a_hanging_service_within_its_bound",
        "idle_stop_is_quick",
        "log_lines_have_priorities",
        "log_is_quiet",
        "secrets_reach_the_header_and_nothing_else",
        "sqlite_works_in_the_sandbox",
        "metrics_are_served_in_the_sandbox",
        "journald_entries_are_found_by_field",
        "journald_gets_every_event",
        "journald_is_waited_for",
        "journald_brings_entries_in",
        "log_entries_have_fields",
        "log_entries_are_explained",
        "log_does_not_wait_for_journald",
        "clients_read_nothing",
        "files_belong_to_the_daemon",
        "secrets_are_in_no_core_dump",
        "socket_settings_are_compared",
        "systemds_socket_is_named",
        "the_daemons_own_socket_works",
        "check_asks_the_sandbox",
        "read_only_names_the_sandbox",
        "missing_credential_says_restart",
        "status_shows_the_first_error",
        "errors_are_logged_once",
        "disabling_both_ends_both",
        "instances_run_side_by_side",
        "memory_is_bounded",
        "a_quota_counts",
        "packages_start_no_service",
        "uninstall_refuses_while_it_runs",
        "an_attack_harms_nobody_else",
        "it_moves_to_another_host",
    ]

    /// The first test runs the guest, once for all tests.
    static let report = run()

    /// `ok`, or `not ok: WHY`, by the check's name.
    let verdicts: [String: String]
    /// How the run ended, with the text of stderr in case there are no verdicts.
    let end: String
    private let errors: String

    /// The log that the script printed after a failed check.
    func log(of check: String) -> String {
        let sections = errors.components(separatedBy: "--- ")
        return sections.first { $0.hasPrefix(check + "\n") } ?? end
    }

    /// Runs as root, otherwise through sudo. If neither is possible, the guest reports it and every test fails.
    private static func run() -> ServiceChecks {
        let guest = Repository.root + "/Tests/Support/with-systemd"
        let script = Repository.root + "/Tests/Support/service-checks"
        let command = [guest, "--timeout", "600", "--", script, TestDaemon.binaries]
        do {
            let needsSudo = geteuid() != 0
            let mayUseSudo = try needsSudo && Program.run("sudo", ["-n", "true"]).status == 0
            let result = try Program.run(
                "env", ["-C", Repository.root] + (mayUseSudo ? ["sudo", "-n"] : []) + command)
            return ServiceChecks(result)
        } catch {
            return ServiceChecks(Program(status: -1, output: "", errors: "\(error)"))
        }
    }

    private init(_ result: Program) {
        var verdicts: [String: String] = [:]
        for line in result.output.split(separator: "\n") {
            if line.hasPrefix("ok ") {
                verdicts[String(line.dropFirst(3))] = "ok"
            } else if line.hasPrefix("not ok "), let colon = line.firstIndex(of: ":") {
                verdicts[String(line[..<colon].dropFirst(7))] = "not ok" + line[colon...]
            }
        }
        self.verdicts = verdicts
        errors = result.errors
        end = "exit status \(result.status): \(result.errors.suffix(4000))"
    }
}
