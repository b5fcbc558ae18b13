import Glibc
import Platform
import Testing

@Suite struct PeerCredentialsTests {
    @Test func `the kernel says who connected`() throws {
        let directory = try TemporaryDirectory()
        let listener = try UnixListener.listen(at: directory.file("s"), mode: 0o600)
        let client = try UnixSocket.connect(to: directory.file("s"))
        let accepted = FileDescriptor(owning: accept(listener.raw, nil, nil))
        let peer = try PeerCredentials.of(accepted.raw)
        #expect([peer.user, peer.group] == [getuid(), getgid()])
        #expect(peer.process == getpid())
        let groups = try PeerCredentials.groups(of: accepted.raw)
        #expect(groups.first == getgid())
        var mine = [gid_t](repeating: 0, count: 65_536)
        let count = unsafe getgroups(Int32(mine.count), &mine)
        #expect(Set(groups) == Set(mine.prefix(Int(count)) + [getgid()]))
        #expect(client.raw != accepted.raw)
    }

    @Test func `a descriptor that is no socket is an error`() throws {
        let null = try FileDescriptor.open("/dev/null", O_RDONLY)
        let error = #expect(throws: SystemError.self) { try PeerCredentials.of(null.raw) }
        #expect(error?.code == ENOTSOCK)
    }

    @Test func `users and groups are found by name`() throws {
        #expect(try Accounts.userID(named: "root") == 0)
        #expect(try Accounts.groupID(named: "root") == 0)
    }

    @Test(arguments: ["no-such-name-here", "", "a\0b", "root\n"])
    func `a name that nobody has is not an error`(name: String) throws {
        #expect(try Accounts.userID(named: name) == nil)
        #expect(try Accounts.groupID(named: name) == nil)
    }
}
