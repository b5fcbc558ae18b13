import CNats
import Glibc
import PenstockPluginKit

/// The library's options for a connection.
@safe final class NATSOptions {
    let handle: OpaquePointer?

    /// - Throws: if a file of the settings cannot be read, among others.
    init(_ settings: NATSConnectionSettings, name: String) throws(NATSError) {
        var handle: OpaquePointer?
        try NATSError.check(unsafe natsOptions_Create(&handle))
        unsafe self.handle = handle
        try setServers(settings.servers)
        try NATSError.check(unsafe natsOptions_SetName(handle, name))
        try NATSError.check(unsafe natsOptions_SetTimeout(handle, settings.timeout))
        // A blocked write must not hold `deliver` past the host's deadline.
        try NATSError.check(unsafe natsOptions_SetWriteDeadline(handle, settings.timeout))
        try NATSError.check(unsafe natsOptions_SetAllowReconnect(handle, false))
        // A connection without a sign of life for 15 seconds is lost.
        try NATSError.check(unsafe natsOptions_SetPingInterval(handle, 5000))
        try NATSError.check(unsafe natsOptions_SetMaxPingsOut(handle, 2))
        if let user = settings.username, let password = settings.password {
            try NATSError.check(unsafe natsOptions_SetUserInfo(handle, user, password))
        }
        if let token = settings.token { try NATSError.check(unsafe natsOptions_SetToken(handle, token)) }
        if let file = settings.credentials {
            try NATSError.check(unsafe natsOptions_SetUserCredentialsFromFiles(handle, file, nil))
        }
        if settings.usesTLS {
            try NATSError.check(unsafe natsOptions_SetSecure(handle, true))
            try NATSError.check(unsafe natsOptions_LoadCATrustedCertificates(handle, settings.authorities))
            if let certificate = settings.tls.certificate, let key = settings.tls.key {
                try NATSError.check(unsafe natsOptions_LoadCertificatesChain(handle, certificate, key))
            }
        }
    }

    deinit { unsafe natsOptions_Destroy(handle) }

    private func setServers(_ servers: [String]) throws(NATSError) {
        let texts = unsafe servers.map { unsafe strdup($0) }
        var list = unsafe texts.map { unsafe UnsafePointer($0) }
        let status = unsafe natsOptions_SetServers(handle, &list, Int32(list.count))
        var left = unsafe texts[...]
        while let text = unsafe left.popLast() { unsafe free(text) }
        try NATSError.check(status)
    }
}
