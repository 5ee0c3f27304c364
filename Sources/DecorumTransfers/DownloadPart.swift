import Decorum
import Foundation
import Synchronization

/// The record beside a part, which lets a later process go on.
struct DownloadRecord: Sendable, Hashable, Codable {
    /// Bytes that one request after the other asks for, up to the next segment or the end of the content.
    struct Segment: Sendable, Hashable, Codable {
        let start: Int64
        /// The offset of the first byte that has not arrived.
        var next: Int64
    }

    let identity: TransferIdentity
    var content = DownloadContent()
    var name: String?
    var segments = [Segment(start: 0, next: 0)]
    /// Whether the content of an unknown length has come to its end.
    var hasEnded = false
    /// The time at which the machine was started, in seconds since 1970, when the record was written.
    var boot = Self.lastBoot

    /// The time at which the machine was started; it changes when the clock is set or the machine sleeps, too.
    static var lastBoot: Int64 { Int64(Date().timeIntervalSince1970 - ProcessInfo.processInfo.systemUptime) }

    var arrived: Int64 { segments.reduce(0) { $0 + $1.next - $1.start } }

    var missing: [Int] { hasEnded ? [] : segments.indices.filter { segments[$0].next != end(of: $0) } }

    func end(of index: Int) -> Int64? { index + 1 < segments.count ? segments[index + 1].start : content.length }

    /// Reads a record; nil if it is damaged, or of another version or another request.
    static func read(_ file: PrivateFile, for identity: TransferIdentity) -> DownloadRecord? {
        let record = (try? file.contents(upTo: 64 << 10)).flatMap { RecordForm.decode(Self.self, from: $0) }
        return record?.identity == identity ? record : nil
    }

    /// The record with what a part of a length shows; nil if it is of another part.
    func fitted(toPartOf length: Int64) -> DownloadRecord? {
        var record = self
        guard record.segments.first?.start == 0 else { return nil }
        // The bytes of one segment are the part, later than the record too; a machine started since may have lost them.
        if record.segments.count == 1, (Self.lastBoot - 10...Self.lastBoot + 10).contains(boot) {
            record.segments[0].next = length
        }
        for (index, segment) in record.segments.enumerated() {
            guard segment.start <= segment.next, segment.next <= record.end(of: index) ?? .max,
                segment.next == segment.start || segment.next <= length
            else { return nil }
        }
        // The server says whether a part that is complete is still the content.
        if record.missing.isEmpty { record.segments = [Segment(start: 0, next: record.arrived)] }
        record.hasEnded = false
        return record
    }
}

/// The file beside the destination in which a download arrives; a lock shows other processes too that one has it.
final class DownloadPart: Sendable {
    let url: URL
    /// Whether something that could not be trusted was set aside for the part.
    let isInPlaceOfAnother: Bool
    private let recordFile: PrivateFile
    private let file: HeldFile
    private let state: Mutex<DownloadRecord>

    /// Opens the part of a file, or creates it; what has arrived is thrown away if the download is to begin afresh.
    init(of file: URL, for identity: TransferIdentity, afresh isAfresh: Bool) throws {
        url = Self.url(of: file)
        recordFile = PrivateFile(url.appendingPathExtension("json"))
        let record: DownloadRecord?
        (self.file, record, isInPlaceOfAnother) = try Self.acquire(url, recordFile, identity)
        state = Mutex(record ?? DownloadRecord(identity: identity))
        if isAfresh { try begin(DownloadContent()) }
        if self.record.segments.count == 1, ftruncate(self.file.descriptor, off_t(self.record.arrived)) != 0 {
            throw DownloadError(errno: errno)
        }
    }

    /// Removes the part of a file with its record, unless they are of another URL or user, and what was set aside.
    static func remove(of file: URL, for identity: TransferIdentity) throws {
        let url = url(of: file)
        if DownloadRecord.read(PrivateFile(url.appendingPathExtension("json")), for: identity) != nil {
            try DownloadPart(of: file, for: identity, afresh: true).save()
        }
        removeAside(of: url)
    }

    /// Removes what was set aside: a file, a link as such, or an empty folder.
    private static func removeAside(of url: URL) {
        unsafe _ = Foundation.remove(url.appendingPathExtension("aside").path(percentEncoded: false))
    }

    private static func url(of file: URL) -> URL {
        let name = file.lastPathComponent
        let short = name.utf8.count > 200 ? TransferIdentity.hash(name) : name
        return file.deletingLastPathComponent().appending(path: ".\(short).part", directoryHint: .notDirectory)
    }

    /// Opens and locks the part with its record, or a new part, in the place of one that cannot be trusted.
    private static func acquire(
        _ url: URL, _ recordFile: PrivateFile, _ identity: TransferIdentity
    ) throws -> (HeldFile, DownloadRecord?, isInPlaceOfAnother: Bool) {
        let path = url.path(percentEncoded: false)
        var isInPlaceOfAnother = false
        for _ in 0..<100 {
            // Not blocking, since a pipe in the place of the file would wait for a writer.
            let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
            let file = descriptor < 0 ? nil : HeldFile(descriptor)
            if let file {
                // A file system without locks allows each.
                if !file.lock(), errno == EWOULDBLOCK { throw DownloadError(.inUse) }
                // The download that had the lock may have moved its part into place in the meantime.
                guard file.isNamed(path) else { continue }
                let facts = file.facts
                let record = DownloadRecord.read(recordFile, for: identity)?.fitted(toPartOf: facts.length)
                if facts.isPrivate, facts.length == 0 || record != nil {
                    url.excludeFromBackup(true)
                    return (file, facts.length == 0 ? nil : record, isInPlaceOfAnother)
                }
            } else if case let code = errno, ![ELOOP, EISDIR, ENXIO].contains(code), code != EACCES || !url.isTaken {
                throw DownloadError(errno: code)
            }
            // While the lock is held, so that it is not another download's new part, and over what was set aside before.
            guard unsafe rename(path, path + ".aside") == 0 else { throw DownloadError(errno: errno) }
            withExtendedLifetime(file) { isInPlaceOfAnother = true }
        }
        throw DownloadError(.inUse)
    }

    /// Whether the part still has its name, which a sign-out or another program may have taken.
    private var isNamed: Bool { file.isNamed(url.path(percentEncoded: false)) }

    var record: DownloadRecord { update { $0 } }

    /// Changes the record, which is not written yet.
    func update<Result: Sendable>(_ change: (inout DownloadRecord) -> Result) -> Result {
        state.withLock { change(&$0) }
    }

    /// Begins with the first byte of a content, in one segment, or in the segments that begin at some offsets.
    func begin(_ content: DownloadContent, segmentsAt starts: [Int64] = [0], name: String? = nil) throws {
        guard ftruncate(file.descriptor, 0) == 0 else { throw DownloadError(errno: errno) }
        update { record in
            record.content = content
            record.name = name ?? record.name
            record.segments = starts.map { .init(start: $0, next: $0) }
        }
        try write()
        // Else a loss of power might leave the former record beside the bytes of another content.
        url.deletingLastPathComponent().persistNames()
    }

    /// Writes bytes at the end of what has arrived of a segment, and tells them.
    func append(_ data: Data, to index: Int, in run: TransferRun) throws {
        do { try file.write(data, at: record.segments[index].next) } catch { throw DownloadError(error) }
        let isDue = update { record in
            let former = record.arrived
            record.segments[index].next += Int64(data.count)
            run.add(data.count)
            // The part shows the bytes of one segment, too.
            let step: Int64 = record.segments.count > 1 ? 4 << 20 : 64 << 20
            return record.arrived / step > former / step
        }
        if isDue { try write() }
    }

    /// Writes the record at the end of a run, or removes a part without content, unless another has its name.
    func save() {
        guard isNamed else { return }
        if record.arrived > 0 { return (try? write()) ?? () }
        for file in [url, recordFile.url] { unsafe unlink(file.path(percentEncoded: false)) }
    }

    private func write() throws {
        var record = record
        record.boot = DownloadRecord.lastBoot
        do {
            // The bytes first, since the record says that they are there.
            try file.persist()
            try recordFile.replace(with: RecordForm.encode(record))
            recordFile.url.excludeFromBackup(true)
        } catch let error as PrivateFileError {
            throw DownloadError(error)
        }
    }

    /// Moves the part into its place in one step; a file that it replaces gives it its permissions.
    func move(to destination: URL, replacing isReplacing: Bool) throws {
        let (from, to) = (url.path(percentEncoded: false), destination.path(percentEncoded: false))
        do { try file.persist() } catch { throw DownloadError(error) }
        // Another part, which is not complete, must not become the file.
        guard isNamed else { throw DownloadError(.inUse) }
        url.excludeFromBackup(false)
        var status = stat()
        if isReplacing, unsafe lstat(to, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
            fchmod(file.descriptor, status.st_mode & 0o777)
        }
        // A link, other than a move, fails if another process has taken the name a moment ago; some file systems have none.
        if !isReplacing, unsafe link(from, to) == 0 {
            unsafe unlink(from)
        } else {
            let mayMove = isReplacing || [EPERM, ENOTSUP, EMLINK, ENOSYS].contains(errno) && !destination.isTaken
            guard mayMove, unsafe rename(from, to) == 0 else { throw DownloadError(errno: errno) }
        }
        // After a loss of power, the name may be lost without this.
        destination.deletingLastPathComponent().persistNames()
        unsafe unlink(recordFile.url.path(percentEncoded: false))
        Self.removeAside(of: url)
    }
}

extension URL {
    var isTaken: Bool { (try? FileManager.default.attributesOfItem(atPath: path(percentEncoded: false))) != nil }
}

extension DownloadError {
    fileprivate init(_ error: PrivateFileError) {
        if case .system(let code) = error.reason { self.init(errno: code) } else { self.init(.system(EACCES)) }
    }
}
