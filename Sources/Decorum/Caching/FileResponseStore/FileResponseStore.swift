public import Foundation
import HTTPTypes

/// A store in a directory, bounded in bytes, which survives a restart and may be used by several processes.
///
/// ```swift
/// let store = FileResponseStore(directory: caches.appending(path: "Responses"))
/// ```
///
/// The directory may be shared, as by an app and its extensions, and a process may end at any moment: the next store that
/// opens the directory, and a removal, delete what it has not finished. Each byte that is read is verified. A damaged file
/// and an unusable directory count as missing responses and never throw.
///
/// Several stores may use one directory, in one process and in several. A removal through one of them is seen by all: it
/// removes the files, the responses that another store keeps in memory, and withdraws the tickets of responses that are
/// under way there. A response does not replace the response to a later request, whichever store has stored that. A
/// ticket that is older than a day stores nothing, nor does one that was given before the system's clock was set. On a
/// file system without locks, only one store may use the directory.
///
/// The least recently used responses are removed first, also when the disk is full. The limit includes the bodies that are
/// being received, which take at most half of it; a body for which there is no room is not stored. All processes together
/// keep the limit to within a tenth. For each key, the 16 latest variants are kept. At most 128 bodies of more than 96 KiB
/// are open at a time; above that, a lookup finds no such response.
///
/// Fields that are known as secret by their names are never written to the disk. A response is kept only in memory, for
/// the life of the process and for a day at most, in three cases: its request had `Authorization`, `Cookie` or another
/// field by which ``ResponseKey`` distinguishes requests; the response itself has such a field, such as `Set-Cookie`; or
/// a URL in its `Location`, `Content-Location`, `Link` or `Refresh` has an item that ``Redaction/standard`` knows, such
/// as `access_token`. The names in ``RequestOptions/secretFields`` apply only to the request. Put the layer that adds
/// credentials inside of the cache, and set a principal: then responses survive a restart. The request's own URL, its
/// principal and the values of the fields that `Vary` names are in the files, which are readable by their user alone.
/// A symbolic link in place of one of the store's own folders is refused, and so is a directory of another user; the
/// directory may be reached through symbolic links.
///
/// No thread of the concurrency pool waits for the disk. The body of a large response is read in parts; when a process finds
/// it for the first time, it reads the whole body once to verify it. If the disk refuses a removal, as while too many files
/// are open, all responses count as removed in this process, and are removed later.
public final class FileResponseStore: ResponseStore {
    let files: ResponseFiles
    private let tickets = StoreTickets()
    /// The responses with secrets.
    private let secrets: MemoryResponseStore
    private let spawner: any TaskSpawner
    private var directory: ResponseDirectory { files.directory }
    /// The path of the directory, without symbolic links.
    var path: String { directory.path }

    /// The largest body, in bytes, that the store takes: a quarter of its limit.
    public var bodyLimit: Int { files.bodyLimit }

    /// The error because of which the directory cannot be used now; nil when it can be used.
    ///
    /// While there is an error, the store keeps no response on the disk. Each response that it is to keep makes it try
    /// again.
    public var directoryError: POSIXError? {
        directory.error.map { POSIXError(POSIXErrorCode(rawValue: $0) ?? .EIO) }
    }

    /// Creates a store in a directory, which is created too when it does not exist.
    ///
    /// With an unusable directory, the store keeps only the responses that it keeps in memory. This initializer waits
    /// for the disk, for the time that the creation of a few folders takes.
    ///
    /// - Parameters:
    ///   - directory: The directory, preferably only for this store; other files in it stay untouched. iOS, tvOS,
    ///     watchOS and visionOS end an app that they suspend while it holds a lock in the container of an app group, so
    ///     name a directory there only if an extension needs the responses.
    ///   - byteLimit: The largest number of bytes to keep on the disk; a negative number counts as 0. The times of
    ///     removals take up to 512 KiB more.
    ///   - spawner: Starts the checks of all files in the background.
    public convenience init(
        directory: URL, byteLimit: Int = 256 << 20, spawner: any TaskSpawner = SystemSpawner(priority: .utility)
    ) {
        self.init(directory: directory, byteLimit: byteLimit, spawner: spawner, fileSystem: SystemFileSystem())
    }

    init(directory: URL, byteLimit: Int, spawner: any TaskSpawner = SystemSpawner(), fileSystem: any FileSystem) {
        let byteLimit = max(byteLimit, 0)
        // The directory may be a symbolic link; its content may not. A URL that is not a file URL is unusable.
        let path = directory.isFileURL ? directory.resolvingSymlinksInPath().path : "/dev/null"
        files = ResponseFiles(
            ResponseDirectory(path, fileSystem: fileSystem), tickets: tickets, byteLimit: byteLimit, spawner: spawner)
        secrets = MemoryResponseStore(byteLimit: min(byteLimit, 16 << 20), tickets: tickets)
        self.spawner = spawner
        guard (try? files.directory.prepare()) != nil else { return }
        // The content can be requested again.
        directory.excludeFromBackup(true)
        files.space.sweepUnfinished()
        if files.directory.isOfFormerFormat { files.space.startTrimming() }
    }

    /// Gives the ticket with which the response to a request can be stored.
    ///
    /// No response is stored with a ticket that is older than a day, or if the clock was set after the ticket was
    /// given.
    public func ticket(for key: ResponseKey) -> StoreTicket {
        tickets.ticket(for: key, at: directory.fileSystem.time)
    }

    /// Finds the stored responses for a key, the latest first.
    public func responses(for key: ResponseKey) async -> [StoredResponse] {
        let inMemory = await secretResponses(for: key)
        guard !key.holdsSecret else { return inMemory }
        let onDisk = await files.responses(for: key)
        return inMemory.isEmpty ? onDisk : (inMemory + onDisk).sorted { $0.date > $1.date }
    }

    /// Finds the responses in memory, and withdraws what a removal through another store covers.
    private func secretResponses(for key: ResponseKey) async -> [StoredResponse] {
        let found = secrets.responses(for: key)
        // A request that was sent before the removal must not be joined after it.
        let isUnderWay = tickets.areGiven(at: key.uri)
        guard isUnderWay || !found.isEmpty else { return [] }
        let removed = await files.lastRemoval(of: key)
        if isUnderWay, let removed, removed > 0 { tickets.withdraw(for: key, until: removed) }
        let now = directory.fileSystem.time
        return found.filter { response in
            if let removed, let time = response.ticketTime, time.isComparable(at: now), removed < time.wall {
                return true
            }
            // Not all responses of the key, which would withdraw the tickets of requests that were sent later.
            secrets.removeResponses(ofSameVariantAs: response, for: key)
            return false
        }
    }

    /// Keeps a response, in place of the responses of the same variant.
    @discardableResult
    public func store(_ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket) async -> Bool {
        guard !response.holdsSecret(under: key) else { return await storeInMemory(response, for: key, with: ticket) }
        guard response.body.replay != .once, response.body.length ?? 0 <= Int64(bodyLimit),
            let writer = await fileWriter(response, key, ticket)
        else { return false }
        do {
            for try await chunk in response.body {
                guard await writer.write(chunk) else { return false }
            }
        } catch {
            return false
        }
        return await writer.finish()
    }

    /// Replaces the head of a stored response, in its file: the body is not written again.
    ///
    /// If the new head does not fit, or `Vary` has changed, the response is stored whole in the background. A response
    /// that is no longer stored stays so.
    @discardableResult
    public func refresh(
        _ stored: StoredResponse, with refreshed: StoredResponse, for key: ResponseKey, with ticket: StoreTicket
    ) async -> Bool {
        guard let nonce = stored.fileNonce, !refreshed.holdsSecret(under: key) else {
            return await store(refreshed, for: key, with: ticket)
        }
        if refreshed.isOfSameVariant(as: stored) {
            guard let head = ResponseFile.head(of: refreshed, key: key) else { return false }
            let digest = ResponseKeyDigest(key)
            let change = await files.change(writing: head.count) { [files] in
                try files.changes.replaceHead(head, nonce: nonce, digest, ticket)
            }
            guard change == .tooLong else { return change == .done }
        }
        spawner.spawn { [self] in _ = await store(refreshed, for: key, with: ticket) }
        return true
    }

    private func storeInMemory(
        _ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket
    ) async -> Bool {
        var response = response
        if response.body.bytes == nil {
            guard response.body.replay != .once, let content = try? await response.body.data(upTo: secrets.bodyLimit)
            else { return false }
            response.body = Body(content)
        }
        response.fileNonce = nil
        response.ticketTime = ticket.time
        return await keepInMemory(response, key, ticket) { [secrets, response] in
            secrets.store(response, for: key, with: ticket)
        }
    }

    /// Has a response kept in memory in place of the file of its variant, unless the file answers a later request.
    fileprivate func keepInMemory(
        _ response: StoredResponse, _ key: ResponseKey, _ ticket: StoreTicket, by keep: @escaping @Sendable () -> Bool
    ) async -> Bool {
        guard !key.holdsSecret else { return keep() }
        let (digest, variant) = (ResponseKeyDigest(key), ResponseKeyDigest.digest(ofVariant: response))
        return await files.perform { [files] in files.changes.replaceVariant(variant, digest, ticket, by: keep) }
    }

    /// Makes a writer to the disk; returns nil when the directory cannot be written.
    private func fileWriter(
        _ response: StoredResponse, _ key: ResponseKey, _ ticket: StoreTicket
    ) async -> ResponseFileWriter? {
        if directory.error != nil { await files.perform { [directory] in _ = try? directory.prepare() } }
        guard directory.error == nil else { return nil }
        var variant = response
        variant.body = .empty
        return ResponseFileWriter(response, key: key, ticket: ticket, files: files) { [secrets, variant] in
            secrets.removeResponses(ofSameVariantAs: variant, for: key, before: ticket)
        }
    }

    /// Starts to keep a response whose body is written to the disk as it arrives.
    ///
    /// - Returns: A writer; nil when the directory cannot be written, for which ``directoryError`` has the reason.
    public func writer(
        for response: StoredResponse, key: ResponseKey, with ticket: StoreTicket
    ) async -> (any ResponseWriter)? {
        guard response.holdsSecret(under: key) else { return await fileWriter(response, key, ticket) }
        var response = response
        response.ticketTime = ticket.time
        return secrets.makeWriter(response, key, ticket).map { writer in
            SecretWriter(writer: writer, response: response, key: key, ticket: ticket, store: self)
        }
    }

    /// Removes every response under a key, in all stores on the directory.
    public func removeResponses(for key: ResponseKey) async {
        secrets.removeResponses(for: key)
        await remove(.key(ResponseKeyDigest(key)))
    }

    /// Removes the responses under a key that answer earlier requests than the ticket's, if the ticket is current, in all
    /// stores on the directory.
    public func removeResponses(for key: ResponseKey, before ticket: StoreTicket) async {
        await secrets.removeResponses(for: key, before: ticket)
        guard !key.holdsSecret else { return }
        let digest = ResponseKeyDigest(key)
        await files.perform { [files] in files.changes.removeFiles(of: digest, before: ticket) }
    }

    /// Removes every response of a URI, of all principals, in all stores on the directory.
    public func removeResponses(at uri: ResponseKey.URI) async {
        secrets.removeResponses(at: uri)
        await remove(.uri(ResponseKeyDigest.digest(of: uri)))
    }

    /// Removes every response that was stored on behalf of a principal, in all stores on the directory.
    public func removeResponses(of principal: Principal?) async {
        secrets.removeResponses(of: principal)
        await remove(.principal(ResponseKeyDigest.digest(of: principal)))
    }

    /// Removes every response, in all stores on the directory.
    public func removeAllResponses() async {
        secrets.removeAllResponses()
        await remove(.all)
    }

    private func remove(_ removal: ResponseRemoval) async {
        await files.perform { [files] in files.changes.remove(removal) }
    }
}

/// Collects a response with a secret in memory; the file of its variant is removed once the response is complete.
private struct SecretWriter: ResponseWriter {
    let writer: MemoryResponseWriter
    let response: StoredResponse
    let key: ResponseKey
    let ticket: StoreTicket
    let store: FileResponseStore

    func write(_ chunk: Data) -> Bool { writer.write(chunk) }

    func finish() async -> Bool {
        await store.keepInMemory(response, key, ticket) { [writer] in writer.finish() }
    }
}

extension StoredResponse {
    /// Whether a field of the request or of the response holds a secret.
    package func holdsSecret(under key: ResponseKey) -> Bool {
        key.holdsSecret || selectingFields.contains(.cookie)
            || head.headerFields.contains { field in
                Redaction.standard.isSecret(field, secretFields: []) || field.refersToSecret
            }
    }
}

extension HTTPField {
    private static let referringFields = FieldNames(
        Set(["Location", "Content-Location", "Link", "Refresh"].compactMap { HTTPField.Name($0) }))

    /// Whether the value is a URL, or a text with one, that holds a secret.
    fileprivate var refersToSecret: Bool {
        guard Self.referringFields.contains(name) else { return false }
        let redaction = Redaction.standard
        return (isURL ? redaction.applied(toURL: value) : redaction.applied(toText: value)) != value
    }
}
