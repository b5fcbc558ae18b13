import DaemonConfiguration
import Foundation
import Platform

/// Checks the certificates and private keys of the sources' HTTP listeners, as the daemon would load them.
struct ListenerCheck {
    let read: ReadConfiguration
    let occasion: ConfigurationCheck.Occasion
    let diagnostics: Diagnostics
    /// Seconds since 1970.
    var now = Int64(Date().timeIntervalSince1970)

    /// A certificate that expires earlier is reported.
    private static let notice: Int64 = 14 * 86_400

    func run() {
        for source in read.configuration.sources {
            guard let tls = source.http?.tls else { continue }
            let (errors, validity) = TLSContext.problems(of: TLSContext.Options(tls))
            for error in errors { report(error, of: source.name) }
            if let validity { check(validity, of: source.name) }
        }
    }

    private func place(_ source: String, _ part: TLSError.Part) -> Place {
        let key =
            switch part {
            case .certificate: "certificate"
            case .key: "key"
            case .clientCA: "client_ca"
            }
        let keys = ["sources", source, "tls"]
        // A key that is not given is in the certificate's file.
        return read.place(of: keys + [read.isGiven(keys + [key]) ? key : "certificate"])
    }

    private func report(_ error: TLSError, of source: String) {
        let place = place(source, error.part)
        if case .rehearsal = occasion, case .unreadable(let reason) = error.reason, reason.isForbidden {
            diagnostics.warning(
                at: place, "\(error.path ?? "the key") cannot be read by the user who runs this check",
                hint: "run the check as the daemon's user, or as root, to be sure; \(error.hint)")
        } else {
            diagnostics.error(at: place, error.message, hint: error.hint, isOfMachine: true)
        }
    }

    private func check(_ validity: TLSContext.Validity, of source: String) {
        let hint = "renew it, then: systemctl reload penstock"
        let place = place(source, .certificate)
        if validity.until < now {
            diagnostics.warning(
                at: place, "the certificate expired on \(Self.day(validity.until)), so clients refuse it", hint: hint)
        } else if validity.until - now < Self.notice {
            diagnostics.warning(at: place, "the certificate expires on \(Self.day(validity.until))", hint: hint)
        }
        if validity.from > now {
            diagnostics.warning(
                at: place, "the certificate is not valid before \(Self.day(validity.from)), so clients refuse it",
                hint: "check the clock of this machine, or use another certificate")
        }
    }

    private static func day(_ seconds: Int64) -> String {
        CalendarTime.text(secondsSince1970: seconds, "%Y-%m-%d %H:%M UTC") ?? "an unknown day"
    }
}
