import Foundation
import Synchronization

/// The stored responses in a directory.
final class ResponseFiles: Sendable {
    let folders: ResponseFolders
    let space: ResponseFileSpace
    let bodyLimit: Int
    /// The responses that are not written to the disk, since they hold secrets.
    let secrets: MemoryResponseStore
    private let heads = ReadHeads()
    let tickets = StoreTickets()

    init(
        _ path: String, byteLimit: Int, fileSystem: any FileSystem,
        spawner: any TaskSpawner
    ) {
        folders = ResponseFolders(path, fileSystem: fileSystem)
        space = ResponseFileSpace(limit: byteLimit, folders: folders, spawner: spawner)
        bodyLimit = byteLimit / 4
        secrets = MemoryResponseStore(byteLimit: min(byteLimit, 16 << 20), tickets: tickets)
    }

    /// A response that was found, with its file if its body is not verified yet.
    struct Found {
        let response: StoredResponse
        let time: Int64
        let name: ResponseFileName
        let unverified: OpenResponseFile?
    }

    func find(_ key: ResponseKey) -> [Found] {
        let names = folders.names(of: ResponseKeyDigest(key))
        var found: [Found] = []
        for name in names {
            let path = folders.path(of: name)
            switch folders.fileSystem.readResponse(path, key, heads) {
            case .small(let head, let content):
                found.append(
                    Found(response: head.response(Body(content)), time: head.time, name: name, unverified: nil))
            case .large(let head, let file):
                let isVerified = folders.isVerified(name, nonce: file.layout.nonce)
                found.append(
                    Found(
                        response: head.response(body(of: file, name)), time: head.time, name: name,
                        unverified: isVerified ? nil : file))
            case .missing: break
            case .damaged: try? folders.fileSystem.remove(path)
            }
        }
        found.removeAll { folders.isRemoved($0.name, writtenAt: $0.time) }
        if found.count > 1 { found.sort { ($0.response.date, $0.time) > ($1.response.date, $1.time) } }
        return found
    }

    private func body(of file: OpenResponseFile, _ name: ResponseFileName) -> Body {
        file.body { [folders] in folders.noteDamaged(name, nonce: file.layout.nonce) }
    }

    /// Reads the body of a response once, so that no part of a damaged body is returned.
    func verify(_ found: Found) -> StoredResponse? {
        guard let file = found.unverified else { return found.response }
        guard file.isWhole else {
            try? folders.fileSystem.remove(folders.path(of: found.name))
            return nil
        }
        folders.noteVerified(found.name, nonce: file.layout.nonce)
        return found.response
    }

    /// Removes the least recently used variants of a key, when there are too many with a new variant.
    func removeExcess(of key: ResponseKey, besides newest: ResponseFileName) {
        let others = folders.names(of: ResponseKeyDigest(key)).filter { $0 != newest }
        let excess = others.count + 1 - MemoryResponseStore.variantLimit
        guard excess > 0 else { return }
        let times = others.map { name in
            (name: name, time: (try? folders.fileSystem.status(of: folders.path(of: name)))?.time ?? .min)
        }
        for (name, _) in times.sorted(by: { $0.time < $1.time }).prefix(excess) { remove(name) }
    }

    func remove(_ name: ResponseFileName) {
        folders.remove(name)
    }

    func remove(_ key: ResponseKey) {
        tickets.withdraw(for: key)
        folders.remove(.key(ResponseKeyDigest(key)))
    }

    func remove(_ uri: ResponseKey.URI) {
        tickets.withdraw(at: uri)
        folders.remove(.uri(ResponseKeyDigest(uri)))
    }

    func remove(_ principal: Principal?) {
        tickets.withdraw(of: principal)
        folders.remove(.principal(digest: ResponseKeyDigest.digest(of: principal)))
    }

    func removeAll() {
        tickets.withdrawAll()
        folders.remove(.all)
    }
}

extension FileSystem {
    /// Reads the file of a response; opens the value of unknown type once, not for each call.
    fileprivate func readResponse(_ path: String, _ key: ResponseKey, _ heads: ReadHeads) -> ResponseFileReading {
        ResponseFileReading(path, key: key, heads: heads, fileSystem: self)
    }
}
