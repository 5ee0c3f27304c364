import Foundation
import Synchronization

/// The stored responses in a directory, and the threads that work on it.
final class ResponseFiles: Sendable {
    let directory: ResponseDirectory
    let changes: ResponseFileChanges
    let space: ResponseFileSpace
    let threads = DiskThreads()
    let bodyLimit: Int
    private let heads = ReadHeads()
    private let openFiles: OpenFiles
    /// The random numbers of the files whose bodies were read whole before, or written, in this process.
    private let verified = Mutex<Set<UInt64>>([])

    init(_ directory: ResponseDirectory, tickets: StoreTickets, byteLimit: Int, spawner: any TaskSpawner) {
        self.directory = directory
        changes = ResponseFileChanges(directory, tickets: tickets)
        space = ResponseFileSpace(limit: byteLimit, changes: changes, threads: threads, spawner: spawner)
        openFiles = OpenFiles(directory.fileSystem, threads: threads)
        bodyLimit = byteLimit / 4
    }

    private struct Found {
        let name: ResponseFileName
        let response: StoredResponse
        let sent: Int64
        /// The file, if its body is large.
        var file: OpenResponseFile?
    }

    /// The responses that were found, and the files that seem to be damaged.
    private struct Finding {
        var found: [Found] = []
        var damaged: [ResponseFileName] = []
    }

    /// Finds the responses of a key, the latest first, without a change of thread if their files are in memory.
    func responses(for key: ResponseKey) async -> [StoredResponse] {
        let digest = ResponseKeyDigest(key)
        if let finding = try? find(key, digest, mayWait: false), finding.damaged.isEmpty {
            return await verified(finding)
        }
        var finding = await threads.reading.perform { [self] in try? find(key, digest, mayWait: true) } ?? Finding()
        if !finding.damaged.isEmpty {
            // A file that another store was changing is read once more.
            await removeDamaged(finding.damaged, key)
            finding = await threads.reading.perform { [self] in try? find(key, digest, mayWait: true) } ?? Finding()
        }
        return await verified(finding)
    }

    private func removeDamaged(_ names: [ResponseFileName], _ key: ResponseKey) async {
        await threads.changing.perform { [self] in
            for name in names {
                changes.removeDamaged(name) { path in
                    guard
                        case .damaged = try? directory.fileSystem.readResponse(path, parameters(key, mayWait: true))
                            .reading
                    else {
                        return false
                    }
                    return true
                }
            }
        }
    }

    private func parameters(_ key: ResponseKey, mayWait: Bool) -> ResponseFileReading.Parameters {
        ResponseFileReading.Parameters(key: key, heads: heads, openFiles: openFiles, mayWait: mayWait)
    }

    private func find(_ key: ResponseKey, _ digest: ResponseKeyDigest, mayWait: Bool) throws -> Finding {
        var finding = Finding()
        // A call that must not wait follows no symbolic link in the path, which is checked here otherwise.
        if mayWait { guard (try? directory.checkFolder(digest.folder)) != nil else { return finding } }
        let parameters = parameters(key, mayWait: mayWait)
        var (index, count) = (0, 1)
        while index < count {
            let name = ResponseFileName(digest: digest, index: index)
            let path = directory.path(of: name)
            let (reading, time) = try directory.fileSystem.readResponse(path, parameters)
            var state: ResponseFileState?
            switch reading {
            case .small(let head, let found, let content):
                state = found
                let response = head.response(Body(content), nonce: found.layout.nonce)
                add(Found(name: name, response: response, sent: found.slot.sent), to: &finding)
            case .large(let head, let found, let file):
                state = found
                let response = head.response(body(of: file), nonce: found.layout.nonce)
                add(Found(name: name, response: response, sent: found.slot.sent, file: file), to: &finding)
            case .unusable(let found): state = found
            case .missing: break
            case .damaged: finding.damaged.append(name)
            }
            if let state {
                if index == 0 { count = state.layout.variantCount }
                noteUse(of: path, lastAt: time)
            }
            index += 1
        }
        return finding
    }

    private func add(_ found: Found, to finding: inout Finding) {
        if !changes.isRemoved(found.name, sentAt: found.sent) { finding.found.append(found) }
    }

    /// Notes the use of a file in its time, once a minute, which may wait for the disk.
    private func noteUse(of path: String, lastAt time: Int64) {
        let minute: UInt64 = 60_000_000_000
        let fileSystem = directory.fileSystem
        let now = fileSystem.time.wall
        guard (now &- time).magnitude > minute else { return }
        threads.changing.start { try? fileSystem.setTime(of: path, to: now) }
    }

    private func body(of file: OpenResponseFile) -> Body {
        let nonce = file.layout.nonce
        return file.body { [weak self] in _ = self?.verified.withLock { $0.remove(nonce) } }
    }

    /// Orders the responses that were found, without those whose large bodies are damaged.
    private func verified(_ finding: Finding) async -> [StoredResponse] {
        var found = finding.found
        if found.contains(where: { $0.file.map { !isVerified($0.layout.nonce) } ?? false }) {
            let whole = await threads.reading.perform { [self, found] in found.filter(verify) }
            let names = Set(whole.map(\.name))
            for damaged in found where !names.contains(damaged.name) { await removeDamaged(damaged) }
            found = whole
        }
        if found.count > 1 { found.sort { ($0.response.date, $0.sent) > ($1.response.date, $1.sent) } }
        return found.map(\.response)
    }

    /// Reads a large body once, so that no part of a damaged body is returned.
    private func verify(_ found: Found) -> Bool {
        guard let file = found.file, !isVerified(file.layout.nonce) else { return true }
        guard file.isWhole else { return false }
        noteVerified(file.layout.nonce)
        return true
    }

    private func removeDamaged(_ found: Found) async {
        guard let nonce = found.file?.layout.nonce else { return }
        await threads.changing.perform { [changes] in changes.removeDamaged(found.name, nonce: nonce) }
    }

    private func isVerified(_ nonce: UInt64) -> Bool {
        verified.withLock { $0.contains(nonce) }
    }

    func noteVerified(_ nonce: UInt64) {
        verified.withLock { verified in
            // A limit for a process that runs for months; entries that are dropped are verified again.
            if verified.count >= 100_000 { verified = [] }
            verified.insert(nonce)
        }
    }

    /// Changes the directory on its thread; on a full disk, removes files and tries once more.
    ///
    /// - Returns: The result; nil when the disk refused.
    func change<Result: Sendable>(
        writing count: Int, _ work: @escaping @Sendable () throws -> Result
    ) async -> Result? {
        do {
            return try await threads.changing.perform(work)
        } catch let error as SystemError where error.isFullDisk {
            await space.makeRoomOnDisk(for: count)
            return try? await threads.changing.perform(work)
        } catch {
            directory.note(error)
            return nil
        }
    }
}

extension FileSystem {
    /// Reads the file of a response; opens the value of unknown type once, not for each call.
    fileprivate func readResponse(
        _ path: String, _ parameters: ResponseFileReading.Parameters
    ) throws -> (reading: ResponseFileReading, time: Int64) {
        try ResponseFileReader(parameters: parameters, fileSystem: self).read(path)
    }
}
