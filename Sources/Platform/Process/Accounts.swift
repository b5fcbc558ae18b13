import Glibc

/// The machine's users and groups. A lookup may query the network (nsswitch.conf(5)) and block. Use it only while a
/// configuration is applied, never for an event or a connection. For events, there is `UserNameCache`.
package enum Accounts {
    /// The user as whom this process acts.
    package static var effectiveUserID: UInt32 { geteuid() }

    /// The group as which this process acts.
    package static var effectiveGroupID: UInt32 { getegid() }

    /// nil: the user does not exist.
    package static func userID(named name: String) throws(SystemError) -> UInt32? {
        unsafe try lookUp("getpwnam", name) { (buffer, count, answer: inout UInt32?) in
            var record = unsafe passwd()
            var found: UnsafeMutablePointer<passwd>?
            let code = unsafe getpwnam_r(name, &record, buffer, count, &found)
            answer = unsafe found == nil ? nil : record.pw_uid
            return code
        }
    }

    /// nil: the group does not exist.
    package static func groupID(named name: String) throws(SystemError) -> UInt32? {
        unsafe try lookUp("getgrnam", name) { (buffer, count, answer: inout UInt32?) in
            var record = unsafe group()
            var found: UnsafeMutablePointer<group>?
            let code = unsafe getgrnam_r(name, &record, buffer, count, &found)
            answer = unsafe found == nil ? nil : record.gr_gid
            return code
        }
    }

    /// The users whom the group database names as members of a group. Leaves out those whose primary group it is.
    package static func members(ofGroup id: UInt32) throws(SystemError) -> [UInt32] {
        let names = unsafe try lookUp("getgrgid", "\(id)") { (buffer, count, answer: inout [String]?) in
            var record = unsafe group()
            var found: UnsafeMutablePointer<group>?
            let code = unsafe getgrgid_r(id, &record, buffer, count, &found)
            if unsafe found != nil, var next = unsafe record.gr_mem {
                var names: [String] = []
                while let name = unsafe next.pointee {
                    names.append(unsafe String(cString: name))
                    unsafe next += 1
                }
                answer = names
            }
            return code
        }
        var members: [UInt32] = []
        for name in names ?? [] {
            if let id = try userID(named: name) { members.append(id) }
        }
        return members
    }

    /// nil: the user does not exist or the lookup failed.
    package static func userName(_ id: UInt32) -> String? {
        var record = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        let count = 16 << 10
        let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: count)
        defer { unsafe buffer.deallocate() }
        guard unsafe getpwuid_r(id, &record, buffer, count, &found) == 0, unsafe found != nil,
            let name = unsafe record.pw_name
        else { return nil }
        return unsafe String(cString: name)
    }

    /// nil: the group does not exist or the lookup failed.
    package static func groupName(of id: UInt32) -> String? {
        unsafe try? lookUp("getgrgid", "\(id)") { (buffer, count, answer: inout String?) in
            var record = unsafe group()
            var found: UnsafeMutablePointer<group>?
            let code = unsafe getgrgid_r(id, &record, buffer, count, &found)
            answer = unsafe found == nil ? nil : record.gr_name.map { unsafe String(cString: $0) }
            return code
        }
    }

    /// Calls one of the `_r` functions with a buffer that grows until the record fits, up to 1 MiB: a group with many
    /// members is large.
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
            // Some name services return these for "no such name" (getpwnam_r(3)).
            case ENOENT, ESRCH: return nil
            case EINTR: continue
            case ERANGE where size < 1 << 20: size *= 2
            default: throw SystemError(call, subject, code: code)
            }
        }
    }
}
