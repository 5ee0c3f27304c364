public import Foundation
import HTTPTypes

/// A store in a directory, bounded in bytes, which survives a restart and may be used by several processes.
///
/// ```swift
/// let store = FileResponseStore(directory: caches.appending(path: "Responses"))
/// ```
///
/// Each response is a file, which is written in a separate folder and then moved into its place. So the directory may
/// be shared, as by an app and its extensions, and a process may end at any moment. Each byte that is read is verified.
/// A damaged file, a full disk and an unusable directory count as missing responses and never throw. A file that cannot
/// be removed at once, as while too many files are open, counts as removed in this process, and is removed later. The
/// store does not wait until the disk has written: a file that a loss of power left incomplete is found damaged.
///
/// The least recently used responses are removed first. The limit applies to all processes together, which keep it to
/// within a tenth. Each process checks the sizes of all files, in the background, once it has written a hundredth of
/// the limit. For each key, 16 variants are kept, and one response without `Vary`.
///
/// Fields that are known as secret by their names are never written to the disk. A response is kept only in memory, for
/// the life of the process, in three cases: its request had `Authorization`, `Cookie` or another field by which
/// ``ResponseKey`` distinguishes requests; the response itself has such a field, such as `Set-Cookie`; or a URL in its
/// `Location`, `Content-Location`, `Link` or `Refresh` has an item that ``Redaction/standard`` knows, such as
/// `access_token`. The names in ``RequestOptions/secretFields`` apply only to the request. Put the layer that adds
/// credentials inside of the cache, and set a principal: then responses survive a restart. The request's own URL, its
/// principal and the values of the fields that `Vary` names are in the files, which are readable by their user alone.
///
/// A small response is read on the caller's executor, in about ten microseconds, unless that is the main actor. The
/// body of a large response is read in parts; when a process finds it for the first time, it reads the whole body once
/// to verify it. A response that the server confirms is copied in the background; a request for it before the copy is
/// done is validated once more.
public final class FileResponseStore: ResponseStore {
    private let files: ResponseFiles
    private var secrets: MemoryResponseStore { files.secrets }

    /// The largest body, in bytes, that the store takes: a quarter of its limit.
    public var bodyLimit: Int { files.bodyLimit }

    /// The error that made the directory unusable when the store was created; nil when the directory is usable.
    public let directoryError: POSIXError?

    /// Creates a store in a directory, which is created too when it does not exist.
    ///
    /// With an unusable directory, the store keeps only the responses that it keeps in memory.
    ///
    /// - Parameters:
    ///   - directory: The directory, preferably only for this store; other files in it stay untouched.
    ///   - byteLimit: The largest number of bytes to keep on the disk; a negative number counts as 0.
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
        files = ResponseFiles(path, byteLimit: byteLimit, fileSystem: fileSystem, spawner: spawner)
        do {
            try files.folders.prepare()
            directory.excludeFromBackup()
            directoryError = nil
        } catch {
            let code = (error as? SystemError).flatMap { POSIXErrorCode(rawValue: $0.code) }
            directoryError = POSIXError(code ?? .EIO)
        }
    }

    /// Gives the ticket with which the response to a request can be stored.
    public func ticket(for key: ResponseKey) -> StoreTicket { files.tickets.ticket(for: key) }

    /// Finds the stored responses for a key, the latest first.
    public func responses(for key: ResponseKey) async -> [StoredResponse] {
        let inMemory = secrets.responses(for: key)
        guard !key.holdsSecret else { return inMemory }
        if #isolation.isMainActor { return inMemory.merged(with: await findConcurrently(key)) }
        let found = files.find(key)
        if found.contains(where: { $0.unverified != nil }) { return inMemory.merged(with: await verify(found)) }
        return inMemory.merged(with: found.map(\.response))
    }

    // This waits for the disk, which must not happen on the main actor.
    @concurrent private func findConcurrently(_ key: ResponseKey) async -> [StoredResponse] {
        await verify(files.find(key))
    }

    @concurrent private func verify(_ found: [ResponseFiles.Found]) async -> [StoredResponse] {
        found.compactMap(files.verify)
    }

    /// Keeps a response, in place of those of the same variant.
    public func store(_ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket) async {
        guard !response.holdsSecret(under: key) else { return await storeInMemory(response, for: key, with: ticket) }
        if let content = response.body.bytes {
            await storeOnDisk(response, content, for: key, with: ticket)
        } else if response.body.replay != .once, response.body.length ?? 0 <= Int64(bodyLimit) {
            await copyToDisk(response, for: key, with: ticket)
        }
    }

    @concurrent private func storeOnDisk(
        _ response: StoredResponse, _ content: Data, for key: ResponseKey, with ticket: StoreTicket
    ) async {
        guard let writer = makeWriter(response, key, ticket), writer.append(content) else { return }
        writer.complete()
    }

    /// Keeps a response whose body is in another file, as when it was confirmed by its origin server.
    @concurrent private func copyToDisk(
        _ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket
    ) async {
        guard let writer = makeWriter(response, key, ticket) else { return }
        do {
            for try await chunk in response.body {
                guard writer.append(chunk) else { return }
            }
        } catch {
            return
        }
        writer.complete()
    }

    private func storeInMemory(_ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket) async {
        var response = response
        if response.body.bytes == nil {
            guard response.body.replay != .once, let content = try? await response.body.data(upTo: secrets.bodyLimit)
            else { return }
            response.body = Body(content)
        }
        secrets.store(response, for: key, with: ticket)
        if !key.holdsSecret { await removeFile(ResponseFileName(response, key: key)) }
    }

    @concurrent private func removeFile(_ name: ResponseFileName) async {
        files.remove(name)
    }

    private func makeWriter(
        _ response: StoredResponse, _ key: ResponseKey, _ ticket: StoreTicket
    ) -> ResponseFileWriter? {
        bodyLimit > 0 ? ResponseFileWriter(response, key: key, ticket: ticket, files: files) : nil
    }

    /// Starts to keep a response whose body is written to the disk as it arrives.
    public func writer(
        for response: StoredResponse, key: ResponseKey, with ticket: StoreTicket
    ) async -> (any ResponseWriter)? {
        guard !response.holdsSecret(under: key) else {
            let writer = secrets.makeWriter(response, key, ticket)
            guard !key.holdsSecret else { return writer }
            return writer.map { MemoryOnlyResponseWriter($0, in: files, instead: ResponseFileName(response, key: key)) }
        }
        return makeWriter(response, key, ticket)
    }

    /// Removes every response under a key.
    @concurrent public func removeResponses(for key: ResponseKey) async {
        secrets.removeResponses(for: key)
        if !key.holdsSecret { files.remove(key) }
    }

    /// Removes every response of a URI, of all principals.
    @concurrent public func removeResponses(at uri: ResponseKey.URI) async {
        secrets.removeResponses(at: uri)
        files.remove(uri)
    }

    /// Removes every response that was stored on behalf of a principal, in all processes' files.
    @concurrent public func removeResponses(of principal: Principal?) async {
        secrets.removeResponses(of: principal)
        files.remove(principal)
    }

    /// Removes every response, in all processes' files.
    @concurrent public func removeAllResponses() async {
        secrets.removeAllResponses()
        files.removeAll()
    }
}

extension StoredResponse {
    /// Whether a field of the request or of the response holds a secret.
    fileprivate func holdsSecret(under key: ResponseKey) -> Bool {
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

extension [StoredResponse] {
    /// These and others, the latest first.
    fileprivate func merged(with others: [StoredResponse]) -> [StoredResponse] {
        if isEmpty { return others }
        return others.isEmpty ? self : (self + others).sorted { $0.date > $1.date }
    }
}

extension (any Actor)? {
    // This is a separate function, since the optimiser of Swift 6.3 miscompiles the comparison inline.
    @inline(never) fileprivate var isMainActor: Bool { self === MainActor.shared }
}
