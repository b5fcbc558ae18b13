import DaemonConfiguration
import Platform

extension TLSContext.Options {
    package init(_ tls: Configuration.HTTPListener.TLS) {
        let key: TLSContext.Key? =
            switch tls.key {
            case .inCertificate: .inCertificate
            case .file(let path): .file(path)
            case .secret(let secret):
                // Outside the service, systemd's credentials are missing.
                secret.plain.isEmpty ? nil : .pem(secret.plain)
            }
        self.init(certificate: tls.certificate, key: key, clientCA: tls.clientCA)
    }
}
