import Events
import Platform
import Telemetry

/// Inspects a journal's files and reports which are whole. It takes no lock and writes nothing, so it works on a
/// journal that a daemon is writing and on one without a daemon.
///
/// On a live journal, files grow and disappear during the inspection. So it reads the cursors first: events that were
/// durable then are on disk now. Bytes after the last whole batch of the last segment belong to a write in progress.
/// Damage in a segment without a seal is checked twice, because batches may arrive between two reads.
package struct JournalInspector {
    package let directory: String
    let disk: any Disk
    let context: JournalContext
    private let manifest: Manifest

    /// - Throws: `.inconsistent`, `.unsupported` or `.io` if no part of the journal can be read.
    package init(directory: String, disk: any Disk) throws(JournalError) {
        guard let manifest = try Manifest.read(in: directory, disk) else {
            throw JournalError(
                .inconsistent,
                "journal: no journal in \(directory): the file `\(Manifest.name)` is missing; check the directory")
        }
        self.directory = directory
        self.disk = disk
        self.manifest = manifest
        // An inspection uses only the directory and the disk of the context.
        context = JournalContext(
            directory: directory, uuid: manifest.uuid, options: JournalOptions(), disk: disk, clock: SystemClock(),
            telemetry: Telemetry(sink: Silence(), now: { 0 }))
    }

    private struct Silence: LogSink {
        func write(_ level: Level, _ line: String) {}
    }

    /// - Parameters:
    ///   - everything: whether to read sealed segments and dead letters too. If false, their seals and sizes are
    ///     trusted.
    ///   - onProgress: called after each segment, with the bytes inspected and those of all segments.
    package func inspect(
        everything: Bool = true, onProgress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws(JournalError) -> JournalInspection {
        do throws(SystemError) {
            var found = JournalInspection(
                directory: directory, uuid: "\(manifest.uuid)", first: 0, next: 0, durableEnd: 0, bytes: 0)
            let cursors = try CursorFile.read(context)
            let kept = cursors?.latest ?? CursorFile.Slot()
            found.durableEnd = kept.durableEnd
            let existed = max(
                kept.durableEnd, kept.cursors.values.map(\.position).max() ?? 0, manifest.starts.values.max() ?? 0)
            try inspectSegments(everything, existed, onProgress, &found)
            inspect(cursors, kept, &found)
            if everything { try inspectDeadLetters(&found) }
            try inspectQuarantine(&found)
            return found
        } catch {
            throw JournalError("read the journal", error)
        }
    }

    // MARK: - Segments

    private func inspectSegments(
        _ everything: Bool, _ existed: UInt64, _ onProgress: (Int, Int) -> Void, _ found: inout JournalInspection
    ) throws(SystemError) {
        let names = try disk.list(directory)
        let positions = names.compactMap(Segment.position(ofName:)).sorted()
        if let status = try disk.status(context.path(SpareSegment.name)) {
            found.bytes += status.size
            if try spareHoldsData() {
                found.problems.append("spare: it holds data instead of zeros: check whether it is a renamed segment")
            }
        }
        found.first = positions.first ?? existed
        found.next = found.first
        var lastTime: Int64?
        var progress = (done: 0, total: 0)
        for position in positions { progress.total += try disk.status(context.path(Segment.name(position)))?.size ?? 0 }
        for (index, position) in positions.enumerated() {
            let following = index + 1 < positions.count ? positions[index + 1] : nil
            let segment: InspectedSegment
            do throws(SystemError) {
                segment = try InspectedSegment(context, position, following, existed: existed, everything: everything)
            } catch {
                // Retention may have removed the file meanwhile.
                guard found.segments.isEmpty, following != nil,
                    try disk.status(context.path(Segment.name(position))) == nil
                else {
                    throw error
                }
                found.first = following ?? existed
                found.next = found.first
                continue
            }
            for gap in segment.gaps {
                try note(gap, after: lastTime, &found)
            }
            lastTime = segment.lastTime ?? lastTime
            progress.done += segment.report.bytes
            onProgress(progress.done, progress.total)
            found.segments.append(segment.report)
            found.bytes += segment.report.bytes
            found.batches += segment.report.batches ?? 0
            found.events += segment.report.events ?? 0
            found.next = max(segment.report.end, following ?? segment.next)
            if let problem = segment.problem { found.problems.append(problem) }
            if let note = segment.note { found.notes.append(note) }
        }
        if positions.isEmpty, existed > 0 {
            found.problems.append("the journal held events up to position \(existed), but has no segments")
        }
    }

    /// Checks twice: on a live journal the spare can become a segment, and be written to, at any moment.
    private func spareHoldsData() throws(SystemError) -> Bool {
        for _ in 0..<2 {
            do throws(SystemError) {
                guard try SpareSegment.holdsData(context) else { return false }
            } catch {
                guard error.isMissing else { throw error }
                return false
            }
        }
        return true
    }

    private func note(_ timed: InspectedSegment.TimedGap, after: Int64?, _ found: inout JournalInspection)
        throws(SystemError)
    {
        let gap = try report(timed.gap, after: timed.after ?? after, before: timed.before)
        found.gaps.append(gap)
        let sentence = sentence("positions", timed.gap)
        if timed.gap.reason == .interrupted { found.notes.append(sentence) } else { found.problems.append(sentence) }
    }

    private func sentence(_ noun: String, _ gap: Gap) -> String {
        var text =
            "\(relative(gap.path)): \(gap.reason): \(noun) \(gap.positions.lowerBound) to \(gap.positions.upperBound)"
        text += " (exclusive)"
        if !gap.bytes.isEmpty { text += ", bytes \(gap.bytes.lowerBound) to \(gap.bytes.upperBound)" }
        return text
    }

    private func report(_ gap: Gap, after: Int64?, before: Int64?) throws(SystemError) -> JournalInspection.Gap {
        let copy = Quarantine.path(of: gap.bytes, of: gap.path, in: directory)
        return JournalInspection.Gap(
            first: gap.positions.lowerBound, end: gap.positions.upperBound, reason: gap.reason.name,
            file: relative(gap.path),
            offset: gap.bytes.lowerBound, length: gap.bytes.count, after: after.map(Timestamp.format),
            before: before.map(Timestamp.format), copy: try disk.status(copy) == nil ? nil : relative(copy))
    }

    private func relative(_ path: String) -> String { String(path.dropFirst(directory.utf8.count + 1)) }

    // MARK: - The other files

    private func inspect(_ file: CursorFile.Contents?, _ kept: CursorFile.Slot, _ found: inout JournalInspection) {
        for (name, start) in manifest.starts where kept.cursors[name] == nil {
            found.problems.append(
                "cursors: the cursor of destination \(name) is missing or damaged: all events since position"
                    + " \(max(start, found.first)) will be delivered again")
        }
        if let file {
            found.cursorSlots = file.states.enumerated().map { number, state in
                JournalInspection.CursorSlot(state: state, generation: file.slots[number]?.generation)
            }
            if file.hasDamagedSlot {
                let text = "cursors: one of two slots is damaged, or its write was interrupted"
                if file.latest == nil {
                    found.problems.append("cursors: both slots are damaged")
                } else {
                    found.notes.append(text)
                }
            }
        }
        for (name, cursor) in kept.cursors.sorted(by: { $0.key < $1.key }) {
            if name.hasSuffix(CursorFile.replayMark) {
                let destination = name.dropLast(CursorFile.replayMark.count)
                found.notes.append("cursors: a replay to destination \(destination) is at position \(cursor.position)")
                continue
            }
            if name.hasSuffix(CursorFile.unverifiedMark) {
                let destination = name.dropLast(CursorFile.unverifiedMark.count)
                found.notes.append(
                    "cursors: the store of destination \(destination) is not compared with the journal since position"
                        + " \(cursor.position)")
                continue
            }
            found.cursors.append(
                JournalInspection.Cursor(
                    destination: name, position: cursor.position, start: manifest.starts[name],
                    lagEvents: found.next > cursor.position ? found.next - cursor.position : 0,
                    stateBytes: cursor.state.count))
            if cursor.position < found.first {
                found.notes.append(
                    "cursors: destination \(name) is at position \(cursor.position), below the journal's first"
                        + " position \(found.first)")
            }
        }
    }

    private func inspectDeadLetters(_ found: inout JournalInspection) throws(SystemError) {
        let path = context.path(DeadLetterStore.directory)
        guard try disk.status(path) != nil else { return }
        for name in try disk.list(path).sorted() where try disk.status(path + "/" + name)?.isDirectory == true {
            let files = try DeadLetterFiles(path + "/" + name, context.uuid, disk)
            var letters = JournalInspection.DeadLetters(name: name, letters: 0, bytes: 0, gaps: [])
            for (index, (first, bytes)) in files.files.enumerated() {
                let following = index + 1 < files.files.count ? files.files[index + 1].first : nil
                let file = try disk.open(files.path(first), .readOnly)
                let (scan, gaps) = try files.scan(file, first, following, size: bytes)
                letters.letters += files.removed.countOfOthers(in: scan.numbers)
                letters.bytes += bytes
                for gap in gaps {
                    letters.gaps.append(try report(gap, after: scan.lastTime, before: nil))
                    found.problems.append(sentence("letters", gap))
                }
                if gaps.isEmpty, following == nil, scan.validLength < bytes {
                    found.notes.append(
                        "\(relative(file.path)): ends in an interrupted write or in damaged bytes:"
                            + " whole batches end at byte \(scan.validLength) of \(bytes)")
                }
            }
            found.deadLetters.append(letters)
        }
    }

    private func inspectQuarantine(_ found: inout JournalInspection) throws(SystemError) {
        let path = context.path(Quarantine.directory)
        guard try disk.status(path) != nil else { return }
        for name in try disk.list(path).sorted() {
            found.quarantine.append(
                JournalInspection.File(name: name, bytes: try disk.status(path + "/" + name)?.size ?? 0))
        }
    }
}
