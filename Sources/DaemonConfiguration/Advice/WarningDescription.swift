/// Describes a warning of `penstock check`: the message and what to do. Shown in the manual page and to users.
package struct WarningDescription: Sendable {
    /// The message as reported; … stands for the parts that vary.
    package var message: String
    /// The consequence, and what to do.
    package var action: String

    /// Every warning that a configuration can have, ordered by subject.
    package static let all: [WarningDescription] = [
        .init(
            "this file is not read: …",
            """
            Only files of conf.d whose names end in .yaml and do not begin with a dot are read. Rename the file. To \
            keep it unread without a warning, end its name in .disabled or .bak.
            """),
        .init(
            "there is no source, so the daemon cannot receive events",
            """
            Add a source below sources.
            """),
        .init(
            "\"…\" has no names, so no client may connect",
            """
            Name users or groups. Or remove the key, so that the socket's mode and group decide.
            """),
        .init(
            "this machine has no … \"…\"",
            """
            The name of a user or group is misspelled, or the account does not exist yet. Correct the name, or add the \
            account with adduser(8).
            """),
        .init(
            "no route leads to the destination \"…\"",
            """
            The destination gets no events. Add its name to the to: of a route, or remove the destination.
            """),
        .init(
            "presets/….yaml replaces the shipped preset of the same name",
            """
            If you want to use the shipped preset, give yours another name.
            """),
        .init(
            "the setting \"…\" is not given, so this is left out",
            """
            A header or member beside a preset uses a setting without a value. Give the setting a value, or remove the \
            header or member.
            """),
        .init(
            "events have no field …, so this is always missing",
            """
            Events have no field with the first name of this path. Often that is a typing error, or a text without \
            quotes. The hint has the likely name. If your events do have such a field, write a backslash before its \
            name.
            """),
        .init(
            "no event has the type \"…\"",
            """
            The types are track, identify, page, screen, group and alias, in lower case.
            """),
        .init(
            "this is a constant text; a path begins with \"$.\"",
            """
            Write $.properties.plan for the value, or put the text into $literal.
            """),
        .init(
            "a secret is not filled in here, so this is always missing",
            """
            Secrets are allowed in URLs, headers, mappings and the settings of plugins, as {{ secret.NAME }} or \
            !secret NAME.
            """),
        .init(
            "… is not a directive here; it is the name of a member",
            """
            Directives begin with $ here, and with @ in Segment's mapping-kit. Write $, or put the object into $literal.
            """),
        .init(
            "… is used unchanged: environment variables are not replaced",
            """
            Write the value itself. Write a secret as !secret NAME.
            """),
        .init(
            "this script never returns a value, so it drops every event",
            """
            End the script with: return event.
            """),
        .init(
            "… does not compress the file: it contains plain text",
            """
            Files are compressed if their names end in .gz or .zst. Write one of these endings, or omit the extension.
            """),
        .init(
            "no file is ever removed: without rotate: or a time in the path, there are no old files",
            """
            Add rotate, or %Y-%m-%d to the path.
            """),
        .init(
            "nothing follows …, so the service gets no credentials",
            """
            Add the secret after the word: Authorization: "Bearer {{ secret.NAME }}".
            """),
        .init(
            "this looks like a secret, and every user who can read the file can read it",
            """
            Put the value into a separate file that only the daemon's user may read. In the configuration, write \
            !secret NAME or {{ secret.NAME }}.
            """),
        .init(
            "a password in a URL is shown in logs and status",
            """
            Write {{ secret.NAME }} in place of the password, or use a header.
            """),
        .init(
            "the secret … is empty",
            """
            Write the secret to the file that the hint names.
            """),
        .init(
            "the secret … was not read: $CREDENTIALS_DIRECTORY is not set here",
            """
            systemd passes credentials only to the service. Outside the service, this warning needs no action.
            """),
        .init(
            "the write key … has less than 8 bytes, so it can be guessed",
            """
            Write a longer, random key into the secret's file, such as the output of: openssl rand -hex 16.
            """),
        .init(
            "the write key … holds a colon, so clients that send it by Basic authentication are refused",
            """
            In Basic authentication, a colon ends the name. Use a key without a colon.
            """),
        .init(
            "an event of … (max_event_size) does not fit into max_batch_size, which is …",
            """
            Such an event can be sent over the socket, but not over HTTP. Make max_batch_size larger, or \
            max_event_size smaller.
            """),
        .init(
            "the certificate expired on …, so clients refuse it",
            """
            Renew the certificate. Then reload the daemon: systemctl reload penstock.
            """),
        .init(
            "the certificate expires on …",
            """
            The certificate is valid for less than 14 days. Renew it, and reload the daemon.
            """),
        .init(
            "the certificate is not valid before …, so clients refuse it",
            """
            The clock of this machine may be wrong. Otherwise, use another certificate.
            """),
        .init(
            "every user of this machine can read …",
            """
            This concerns secrets, their directory and private keys. Remove the permission as the hint says: chmod \
            o-rwx FILE.
            """),
        .init(
            "every user of this machine can change …",
            """
            This concerns the configuration, its directories, and secrets: users who can change them decide where \
            events are sent. Remove the permission: chmod o-w FILE.
            """),
        .init(
            "… belongs to …, who can change it",
            """
            Such a file should belong to root, or to the daemon's user: chown root FILE.
            """),
        .init(
            "… cannot be read by the user who runs this check…",
            """
            The daemon's user must be able to read it. Run the check as that user, or as root, to be sure.
            """),
    ]

    private init(_ message: String, _ action: String) {
        self.message = message
        self.action = action
    }

    /// Whether the message is an instance of this warning.
    package func describes(_ text: String) -> Bool {
        var rest = text[...]
        let parts = message.split(separator: "…", omittingEmptySubsequences: false)
        for (number, part) in parts.enumerated() where !part.isEmpty {
            guard let range = rest.firstRange(of: part), number > 0 || range.lowerBound == rest.startIndex else {
                return false
            }
            rest = rest[range.upperBound...]
        }
        return rest.isEmpty || parts.last?.isEmpty == true
    }
}
