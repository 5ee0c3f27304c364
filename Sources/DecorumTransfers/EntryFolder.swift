import Decorum
import Foundation
import HTTPTypes

/// The files of the entries of one principal, in an outbox or a queue.
///
/// An entry is `ID.request`, and `ID.body` if it has content. Its end is `ID.end`, beside which the request stays if it has
/// failed. The content has its name before the head, and an end before the head is removed, so an entry is whole or not there.
struct EntryFolder: Sendable {
    typealias ID = OutboxEntry.ID
    typealias Parts = [String: FileFacts]

    private let root: PrivateFolder
    let files: PrivateFolder
    let principal: Principal?

    init(_ url: URL, of principal: Principal?) {
        root = PrivateFolder(url)
        // The folder of a user tells whose the files are, also where they are damaged.
        let name = principal.map { "user-" + TransferIdentity.hash($0.name) } ?? "none"
        files = PrivateFolder(url.appending(path: name, directoryHint: .isDirectory))
        self.principal = principal
    }

    private func create() throws(PrivateFileError) {
        try root.create()
        try files.create()
    }

    /// Takes the right to send; nil while another process has it.
    func lockForSending() throws -> HeldFile? {
        try create()
        guard let lock = try files.lock("send.lock", within: .zero) else { return nil }
        // A crash has left what was being written, and content whose head has no name yet.
        try changing {
            for name in try files.facts().keys where name.hasPrefix(".") {
                if (try? files.file(name))?.lock() != false { try files.remove(name) }
            }
            for (id, parts) in try entries() where parts["request"] == nil { try files.remove(id.file("body")) }
        }
        return lock
    }

    /// Whether a right to send is still the one of the folder, which the app may have removed and made anew.
    func isLocked(by lock: HeldFile) -> Bool { lock.isNamed(files.url.appending(path: "send.lock").path) }

    /// The files of all entries; foreign files are set aside, and folders that are missing are created.
    func entries() throws(PrivateFileError) -> [ID: Parts] {
        try create()
        var entries: [ID: Parts] = [:]
        for (name, facts) in try files.facts() {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, ["request", "body", "end"].contains(parts[1]) else { continue }
            if let id = ID(rawValue: parts[0]) {
                entries[id, default: [:]][parts[1]] = facts
            } else {
                try setAside(name)
            }
        }
        return entries
    }

    /// Reads the end of an entry, or else its request; nil if neither is there, or they were set aside.
    func read(_ id: ID) throws(PrivateFileError) -> EntryRecord? {
        if let end = try read(id, "end") { return end }
        return try read(id, "request")
    }

    func read(_ id: ID, _ part: String) throws(PrivateFileError) -> EntryRecord? {
        do {
            guard let file = try files.file(id.file(part)) else { return nil }
            let bytes = try file.chunk(min(Int(file.facts.length), EntryRecord.sizeLimit), at: 0)
            if let record = RecordForm.decode(EntryRecord.self, from: bytes), record.id == id,
                record.principal == principal?.name, (record.result != nil) == (part == "end")
            {
                return record
            }
        } catch {
            // A bad block must not keep the other entries back.
            if error.reason == .system(EIO) { return nil }
            guard error.isOfFile else { throw error }
        }
        // A request whose end was damaged may have been refused, so it is not sent again.
        if try setAside(id.file(part)) { for part in ["request", "body"] { try setAside(id.file(part)) } }
        return nil
    }

    /// Opens the content of an entry, and checks it; nil if the entry is gone, or was set aside.
    func body(of record: EntryRecord) throws -> Body? {
        guard record.length > 0 else { return .empty }
        let name = record.id.file("body")
        do {
            if let file = try files.file(name), try file.checksum() == record.checksum {
                return try Body(contentsOf: files.url.appending(path: name, directoryHint: .notDirectory))
            }
        } catch let error as PrivateFileError where error.isOfFile {
            // It is of no use to anybody.
        }
        // Without its request, it has ended or was removed in the meantime.
        if try setAside(record.id.file("request")) { try setAside(name) }
        return nil
    }

    /// Accepts an entry with its content, durably, unless a sign-out comes in between.
    func accept(_ record: EntryRecord, _ body: Body, within limits: OutboxLimits) async throws -> ID {
        try create()
        var record = record
        let new = ".\(record.id.key)"
        let file = try changing {
            let file = try files.open(new, O_RDWR | O_CREAT | O_EXCL)
            // The lock tells that its process lives.
            _ = file.lock()
            return file
        }
        defer { withExtendedLifetime(file) { _ = try? files.remove(new) } }
        for try await chunk in body {
            try Task.checkCancellation()
            guard Int64(chunk.count) <= limits.bytes - record.length else { throw OutboxError(.full) }
            try file.write(chunk, at: record.length)
            record.length += Int64(chunk.count)
        }
        // What takes long is done while others can write.
        record.checksum = try file.checksum()
        try file.persist()
        try Task.checkCancellation()
        return try changing {
            let entries = try entries()
            // The name of a foreign file may have any number.
            let last = entries.keys.lazy.map(\.sequence).filter { $0 < Int64(1) << 48 }.max() ?? 0
            record.id = ID(last + 1, record.id.key)
            let head = try RecordForm.encode(record)
            guard head.count <= EntryRecord.sizeLimit / 2 else { throw OutboxError(.full) }
            try makeRoom(for: Int64(head.count) + record.length, beside: entries, within: limits)
            let isWanted = try record.length > 0 ? files.move(new, to: record.id.file("body")) : files.remove(new)
            guard isWanted else { throw OutboxError(.signedOut) }
            do {
                try files.write(head, to: record.id.file("request"))
            } catch {
                // What the caller is told to be refused must not be sent.
                _ = try? remove(record.id)
                throw error
            }
            return record.id
        }
    }

    /// Removes ends for a new entry: the oldest first, and failures, whose requests go with them, last.
    private func makeRoom(for count: Int64, beside entries: [ID: Parts], within limits: OutboxLimits) throws {
        let waiting = entries.values.count { $0["request"] != nil && $0["end"] == nil }
        var bytes = entries.values.joined().reduce(count) { $0.addingReportingOverflow($1.value.length).partialValue }
        let ended = entries.filter { $0.value["end"] != nil }.sorted { $0.key.rawValue < $1.key.rawValue }
        var oldest = (ended.filter { $0.value["request"] == nil } + ended.filter { $0.value["request"] != nil })[...]
        while let (id, parts) = oldest.first, oldest.count >= limits.count || bytes > limits.bytes {
            try remove(id)
            bytes -= parts.values.reduce(0) { $0 + $1.length }
            oldest.removeFirst()
        }
        guard waiting < limits.count, bytes <= limits.bytes else { throw OutboxError(.full) }
    }

    /// Keeps the end of an entry, and tells whether the entry was still there.
    func end(_ record: EntryRecord) throws -> Bool {
        try changing {
            guard try entries()[record.id]?["request"] != nil else { return false }
            try files.write(RecordForm.encode(record), to: record.id.file("end"))
            if record.result?.state != .failed { try remove(record.id, alsoEnd: false) }
            return true
        }
    }

    /// Pauses a transfer that has not ended, or lets it go on, also after a failure.
    func setPaused(_ isPaused: Bool, _ id: ID) throws {
        try changing {
            guard var record = try read(id), !record.hasEnded else { return }
            record.job?.isPaused = isPaused
            record.result = nil
            try files.write(RecordForm.encode(record), to: id.file("request"))
            try files.remove(id.file("end"))
        }
    }

    /// Removes an entry; its request first, so that it is never sent again.
    func remove(_ id: ID, alsoEnd: Bool = true) throws(PrivateFileError) {
        for part in ["request", "body"] + (alsoEnd ? ["end"] : []) { try files.remove(id.file(part)) }
    }

    /// Removes all of the principal, also what was set aside, and what is being added.
    func removeAll() throws {
        try changing {
            for name in try files.facts().keys where !name.hasSuffix(".lock") { try files.remove(name) }
            try files.persistNames()
        }
    }

    func asideFiles() throws(PrivateFileError) -> [URL] {
        try files.facts().keys.filter { $0.hasSuffix(".aside") }.sorted().map {
            files.url.appending(path: $0, directoryHint: .notDirectory)
        }
    }

    /// Makes changes that no other process sees in part.
    private func changing<Result>(_ change: () throws -> Result) throws -> Result {
        guard let lock = try files.lock("write.lock", within: .seconds(10)) else {
            throw PrivateFileError(.system(ETIMEDOUT))
        }
        defer { withExtendedLifetime(lock) {} }
        return try change()
    }

    @discardableResult private func setAside(_ name: String) throws(PrivateFileError) -> Bool {
        try files.move(name, to: "\(name.prefix(100)).aside")
    }
}

extension OutboxEntry.ID {
    fileprivate func file(_ part: String) -> String { "\(rawValue).\(part)" }
}
