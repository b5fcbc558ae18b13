import Glibc

/// The machine's users and groups, by name. Each look-up may go to the network (nsswitch.conf(5))
/// and block: for when a configuration is applied, never for an event or a connection.
package enum Accounts {
    /// nil: there is no such user.
    package static func userID(named name: String) throws(SystemError) -> UInt32? {
        unsafe try lookUp("getpwnam", name) { (buffer, count, answer: inout UInt32?) in
            var record = unsafe passwd()
            var found: UnsafeMutablePointer<passwd>?
            let code = unsafe getpwnam_r(name, &record, buffer, count, &found)
            answer = unsafe found == nil ? nil : record.pw_uid
            return code
        }
    }

    /// nil: there is no such group.
    package static func groupID(named name: String) throws(SystemError) -> UInt32? {
        unsafe try lookUp("getgrnam", name) { (buffer, count, answer: inout UInt32?) in
            var record = unsafe group()
            var found: UnsafeMutablePointer<group>?
            let code = unsafe getgrnam_r(name, &record, buffer, count, &found)
            answer = unsafe found == nil ? nil : record.gr_gid
            return code
        }
    }

    /// nil: there is none of that number, or it cannot be found out.
    package static func userName(_ id: UInt32) -> String? {
        var record = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        let count = 16 << 10
        let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: count)
        defer { unsafe buffer.deallocate() }
        guard unsafe getpwuid_r(id, &record, buffer, count, &found) == 0, unsafe found != nil, let name = unsafe record.pw_name else { return nil }
        return unsafe String(cString: name)
    }

    /// nil: there is no such group.
    package static func groupName(of id: UInt32) -> String? {
        unsafe try? lookUp("getgrgid", "\(id)") { (buffer, count, answer: inout String?) in
            var record = unsafe group()
            var found: UnsafeMutablePointer<group>?
            let code = unsafe getgrgid_r(id, &record, buffer, count, &found)
            answer = unsafe found == nil ? nil : record.gr_name.map { unsafe String(cString: $0) }
            return code
        }
    }

    /// Runs one of the `_r` functions with a buffer that grows until the record fits: a group of
    /// many members is large. At most 1 MiB.
    private static func lookUp<Answer>(
        _ call: String, _ subject: String,
        _ look: (_ buffer: UnsafeMutablePointer<CChar>, _ count: Int, _ answer: inout Answer?) -> Int32
    ) throws(SystemError) -> Answer? {
        guard !subject.utf8.contains(0) else { return nil }
        var size = 1024
        while true {
            var answer: Answer?
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { unsafe buffer.deallocate() }
            let code = unsafe look(buffer, size, &answer)
            switch code {
            case 0: return answer
            // Some name services answer these for "no such name" (getpwnam_r(3)).
            case ENOENT, ESRCH: return nil
            case EINTR: continue
            case ERANGE where size < 1 << 20: size *= 2
            default: throw SystemError(call, subject, code: code)
            }
        }
    }
}
