import Foundation
import HTTPTypes
import Synchronization

/// The stored responses in a directory, and the queues that work on it.
final class ResponseFiles: Sendable {
    /// The largest number of open files: a process can only open so many.
    ///
    /// Above it, a lookup finds no large response. To close a file and open it again for its next part would find another
    /// response in its place when it was replaced meanwhile, and the caller's body would end in an error.
    static let openLimit = 128
    /// The largest file, in bytes, that is read at once; for larger files, reading in parts costs less.
    private static let smallLimit: Int64 = 96 << 10
    private static let noteLimit = 1000

    let directory: ResponseDirectory
    let changes: ResponseFileChanges
    let space: ResponseSpace
    let bodyLimit: Int
    // Reading does not wait for what is written.
    let reading = DispatchQueue(label: "decorum.store.reading", qos: .utility)
    private let changing = DispatchQueue(label: "decorum.store.changing", qos: .utility)
    private let openCount = Mutex(0)
    /// The random numbers of the files whose bodies were read whole before, or written, in this process.
    private let verified = Mutex<Set<UInt64>>([])
    /// The responses of files that were read recently, by the random numbers of the files: to parse a head takes longer
    /// than to read and verify it.
    private let parsed = Mutex<[UInt64: (key: ResponseKey, checksum: UInt64, response: StoredResponse)]>([:])

    init(_ directory: ResponseDirectory, tickets: StoreTickets, byteLimit: Int, spawner: any TaskSpawner) {
        self.directory = directory
        changes = ResponseFileChanges(directory, tickets: tickets)
        space = ResponseSpace(limit: byteLimit, changes: changes, spawner: spawner)
        bodyLimit = byteLimit / 4
    }

    /// Finds the responses of a key, the latest first, without a change of thread if their files are in memory.
    func responses(for key: ResponseKey) async -> [StoredResponse] {
        if let found = try? find(key, mayWait: false) { return found }
        return await reading.perform { [self] in (try? find(key, mayWait: true)) ?? [] }
    }

    /// The time of the last removal that covers a key, through any store; nil when it cannot be read.
    func lastRemoval(of key: ResponseKey) async -> Int64? {
        let digest = ResponseKeyDigest(key)
        if let time = try? directory.lastRemoval(of: digest, mayWait: false) { return time }
        return await reading.perform { [directory] in try? directory.lastRemoval(of: digest, mayWait: true) }
    }

    private func find(_ key: ResponseKey, mayWait: Bool) throws -> [StoredResponse] {
        let digest = ResponseKeyDigest(key)
        // A call that must not wait follows no symbolic link in the path, which is checked here otherwise.
        if mayWait { try directory.checkFolder(digest.folder) }
        var found: [(response: StoredResponse, sent: Int64)] = []
        var (index, count, removed) = (0, 1, Int64.max)
        while index < count {
            let name = ResponseFileName(digest: digest, index: index)
            if let (file, response) = try read(name, key, mayWait: mayWait) {
                if index == 0 {
                    count = file.variantCount
                    removed = try changes.lastRemoval(of: digest, mayWait: mayWait)
                }
                // A time in the future is from before the clock was set, so it is not known what came first.
                if let response, file.sent > removed, file.sent <= directory.fileSystem.time.wall {
                    found.append((response, file.sent))
                }
            }
            index += 1
        }
        if found.count > 1 { found.sort { ($0.response.date, $0.sent) > ($1.response.date, $1.sent) } }
        return found.map(\.response)
    }

    /// Reads a file, without its response if it is for another key; returns nil if no whole file is found.
    private func read(
        _ name: ResponseFileName, _ key: ResponseKey, mayWait: Bool
    ) throws -> (ResponseFile, StoredResponse?)? {
        let path = directory.path(of: name)
        do {
            return try read(path, key, mayWait: mayWait)
        } catch is StoredBodyError {
            guard mayWait else { throw SystemError.mustWait }
            return try? directory.locked {
                do {
                    // Another store may have been changing the file.
                    return try read(path, key, mayWait: true)
                } catch is StoredBodyError {
                    try directory.fileSystem.remove(path)
                    return nil
                }
            }
        } catch SystemError.mustWait where !mayWait {
            throw SystemError.mustWait
        } catch {
            return nil
        }
    }

    /// Reads a file; throws a ``StoredBodyError`` if it is damaged, or is being changed while it is read.
    private func read(_ path: String, _ key: ResponseKey, mayWait: Bool) throws -> (ResponseFile, StoredResponse?)? {
        let fileSystem = directory.fileSystem
        let descriptor = try fileSystem.open(path, mayWait: mayWait)
        // The open file of a large body closes the descriptor itself.
        var isHandedOn = false
        defer { if !isHandedOn { fileSystem.close(descriptor) } }
        let status = try fileSystem.status(of: descriptor)
        guard status.kind == .regular, status.owner == fileSystem.user else { return nil }
        guard
            let reading = try ResponseFile.read(
                descriptor, status.length, fileSystem, smallLimit: Self.smallLimit, mayWait: mayWait)
        else { throw StoredBodyError() }
        let file = reading.file
        noteUse(of: path, lastAt: status.time)
        var response = response(reading, key)
        response?.fileNonce = file.nonce
        if status.length <= Self.smallLimit {
            guard let body = ResponseFile.body(of: reading) else { throw StoredBodyError() }
            response?.body = Body(body)
            return (file, response)
        }
        guard let table = try file.table(descriptor, fileSystem, mayWait: mayWait) else { throw StoredBodyError() }
        // A large body is read once, so that no part of a damaged body is returned.
        let isVerified = verified.withLock { $0.contains(file.nonce) }
        guard isVerified || mayWait else { throw SystemError.mustWait }
        guard response != nil, holdOpen() else { return (file, nil) }
        isHandedOn = true
        let open = OpenResponseFile(file, descriptor, table: table, files: self)
        if !isVerified {
            try open.verify()
            noteVerified(file.nonce)
        }
        response?.body = open.body
        return (file, response)
    }

    /// The response of a head without its body; nil if it is for another key.
    private func response(_ reading: ResponseFile.Reading, _ key: ResponseKey) -> StoredResponse? {
        let file = reading.file
        if let known = parsed.withLock({ $0[file.nonce] }), known.checksum == file.headChecksum, known.key == key {
            return known.response
        }
        guard let response = ResponseFile.response(reading.head, key: key) else { return nil }
        if reading.head.count <= 4096 {
            parsed.withLock { parsed in
                if parsed.count >= Self.noteLimit { parsed = [:] }
                parsed[file.nonce] = (key, file.headChecksum, response)
            }
        }
        return response
    }

    /// Notes the use of a file in its time, once a minute, which may wait for the disk.
    private func noteUse(of path: String, lastAt time: Int64) {
        let minute: UInt64 = 60_000_000_000
        let fileSystem = directory.fileSystem
        let now = fileSystem.time.wall
        guard (now &- time).magnitude > minute else { return }
        changing.async { try? fileSystem.setTime(of: path, to: now) }
    }

    func noteVerified(_ nonce: UInt64) {
        verified.withLock { verified in
            // A limit for a process that runs for months; entries that are dropped are verified again.
            if verified.count >= 100 * Self.noteLimit { verified = [] }
            verified.insert(nonce)
        }
    }

    fileprivate func forgetVerified(_ nonce: UInt64) {
        verified.withLock { _ = $0.remove(nonce) }
    }

    /// Counts one more open file, and returns whether there may be one more.
    private func holdOpen() -> Bool {
        openCount.withLock { count in
            guard count < Self.openLimit else { return false }
            count += 1
            return true
        }
    }

    /// Closes a file on a queue that may wait, since the last one to close a removed file has its blocks freed.
    fileprivate func close(_ descriptor: Int32) {
        reading.async { [self] in
            directory.fileSystem.close(descriptor)
            openCount.withLock { $0 -= 1 }
        }
    }

    /// Performs a change that cannot fail, after all changes before it.
    func perform<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await changing.perform(work)
    }

    /// Changes the directory; on a full disk, removes files and tries once more; nil when the disk refused.
    func change<Result: Sendable>(
        writing count: Int, _ work: @escaping @Sendable () throws -> Result
    ) async -> Result? {
        do {
            return try await changing.perform(work)
        } catch let error as SystemError where error.isFullDisk {
            await space.makeRoomOnDisk(for: count)
            return try? await changing.perform(work)
        } catch {
            directory.note(error)
            return nil
        }
    }

    /// Closes and removes the file of a response that is not kept, and ends to count its body as incoming.
    func discard(_ descriptor: Int32?, _ path: String?, releasing count: Int) {
        guard descriptor != nil || path != nil else { return space.budget.withLock { $0.release(count) } }
        changing.async { [self] in
            if let descriptor { directory.fileSystem.close(descriptor) }
            if let path { try? directory.fileSystem.remove(path) }
            space.budget.withLock { $0.release(count) }
        }
    }

    /// Waits until the files are removed that have been discarded so far, since other bodies have room only then.
    func settle() async {
        await changing.perform {}
    }
}

/// The open file of a stored response, which stays readable when it is removed or replaced meanwhile.
private final class OpenResponseFile: Sendable {
    private static let blocksPerChunk = 4

    let file: ResponseFile
    private let descriptor: Int32
    private let table: [UInt64]
    private let files: ResponseFiles

    /// Takes over a descriptor, which it closes.
    init(_ file: ResponseFile, _ descriptor: Int32, table: [UInt64], files: ResponseFiles) {
        (self.file, self.descriptor, self.table, self.files) = (file, descriptor, table, files)
    }

    deinit {
        files.close(descriptor)
    }

    /// The body of the response, of which each block is verified before it is given out.
    var body: Body {
        Body(trustedLength: file.bodyLength, replay: .fromAnyOffset) { offset in
            ResponseFileBodyReader(file: self, offset: offset)
        }
    }

    /// Throws unless the whole body is undamaged.
    func verify() throws {
        for block in stride(from: 0, to: file.blockCount, by: Self.blocksPerChunk) {
            _ = try blocks(from: block, mayWait: true)
        }
    }

    private func blocks(from block: Int, mayWait: Bool) throws -> [UInt8] {
        let blocks = block..<min(block + Self.blocksPerChunk, file.blockCount)
        return try file.read(blocks, table, from: descriptor, files.directory.fileSystem, mayWait: mayWait)
    }

    /// Reads the next chunk of the body, at once if the bytes are in memory.
    func chunk(at offset: Int64) async throws -> Data {
        let block = Int(offset / Int64(ResponseFile.blockLength))
        let bytes: [UInt8]
        do {
            bytes = try blocks(from: block, mayWait: false)
        } catch SystemError.mustWait {
            do {
                bytes = try await files.reading.perform { [self] in try blocks(from: block, mayWait: true) }
            } catch {
                files.forgetVerified(file.nonce)
                throw error
            }
        }
        return Data(bytes[Int(offset % Int64(ResponseFile.blockLength))...])
    }
}

private struct ResponseFileBodyReader: BodyReader {
    let file: OpenResponseFile
    var offset: Int64

    mutating func next() async throws -> Data? {
        guard offset < file.file.bodyLength else { return nil }
        try Task.checkCancellation()
        let chunk = try await file.chunk(at: offset)
        offset += Int64(chunk.count)
        return chunk
    }

    var trailers: HTTPFields? { nil }
}
