import Decorum
import Foundation
import Synchronization

/// The facts by which content is known again, without reading all of it.
struct UploadIdentity: Sendable, Hashable, Codable {
    let length: Int64
    /// The date of the file's content; nil for content that is no file.
    let date: Date?
    let begin: UInt64

    init(_ body: Body) async throws {
        guard body.replay == .fromAnyOffset, let length = body.length else { throw UploadError(.contentReadOnce) }
        (self.length, date) = (length, body.file.flatMap { Self.status(of: $0).date })
        var (reader, begin) = (try await body.open(), Data())
        while begin.count < 65_536, let chunk = try await reader.next() { begin += chunk.prefix(65_536 - begin.count) }
        self.begin = Checksum.of(Array(begin)[...], seed: 0)
    }

    /// Whether the file has the same length and date as at first; true for other content.
    func isStill(_ body: Body) -> Bool { body.file.map { Self.status(of: $0) == (length, date) } ?? true }

    private static func status(of file: URL) -> (length: Int64?, date: Date?) {
        // A URL may remember what it was asked before.
        let facts = try? FileManager.default.attributesOfItem(atPath: file.resolvingSymlinksInPath().path)
        return ((facts?[.size] as? NSNumber)?.int64Value, facts?[.modificationDate] as? Date)
    }
}

struct UploadRecord: Sendable, Hashable, Codable {
    let purpose: TransferIdentity
    let content: UploadIdentity
    var ticket = UploadTicket()
    /// Whether the last byte was sent, so that the upload may be complete.
    var isWholeSent = false
}

/// Keeps the record of an upload: in a private file, or in memory for content that only this process has.
final class UploadKeeper: Sendable {
    private let file: PrivateFile?
    private let purpose: TransferIdentity
    private let record = Mutex<UploadRecord?>(nil)

    init(of content: URL?, for request: Request, over connection: (any Connection)? = nil, by name: String) {
        let purpose = TransferIdentity(request, over: connection, by: name)
        self.purpose = purpose
        file = content.map { content in
            let name = ".\(purpose.hash(beside: content.lastPathComponent)).upload"
            return PrivateFile(content.deletingLastPathComponent().appending(path: name, directoryHint: .notDirectory))
        }
    }

    /// The record of the upload, nil without one; throws ``UploadError`` for one that cannot be used, which is set aside.
    @concurrent func load() async throws -> UploadRecord? {
        guard let file else { return record.withLock { $0 } }
        let data: Data?
        do {
            data = try file.contents(upTo: 256 << 10)
        } catch {
            if case .system = error.reason { throw error }
            data = Data()
        }
        let found = data.flatMap { RecordForm.decode(UploadRecord.self, from: $0) }
        guard data == nil || found?.purpose == purpose else {
            try? FileManager.default.removeItem(at: file.aside)
            try? FileManager.default.moveItem(at: file.url, to: file.aside)
            throw UploadError(.damagedRecord)
        }
        record.withLock { $0 = found }
        return found
    }

    /// Changes the record; without one, begins it if there is content.
    @concurrent func keep(_ content: UploadIdentity?, _ change: @Sendable (inout UploadRecord) -> Void) async throws {
        let next = record.withLock { record -> UploadRecord? in
            let begun = content.map { UploadRecord(purpose: purpose, content: $0) }
            guard var next = record ?? begun else { return nil }
            change(&next)
            guard next != record else { return nil }
            record = next
            return next
        }
        guard let next, let file else { return }
        try file.replace(with: RecordForm.encode(next))
        file.url.excludeFromBackup(true)
    }

    var isWholeSent: Bool { record.withLock { $0?.isWholeSent } ?? false }

    @concurrent func remove() async {
        record.withLock { $0 = nil }
        guard let file else { return }
        for url in [file.url, file.aside] { try? FileManager.default.removeItem(at: url) }
    }
}

extension PrivateFile {
    /// Where a record that cannot be used stays until the upload begins anew or is discarded.
    fileprivate var aside: URL { url.appendingPathExtension("damaged") }
}
