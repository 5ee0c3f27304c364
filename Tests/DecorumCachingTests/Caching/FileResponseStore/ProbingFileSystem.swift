import Foundation
import Synchronization

@testable import Decorum

/// The disk of the machine, with a record of all changes, and with failures that a test requests.
final class ProbingFileSystem: FileSystem {
    /// A change of the disk's content.
    enum Change: Sendable {
        case makeDirectory(String)
        case create(String)
        case write(String, Int64, Data)
        case rename(String, String)
        case remove(String)
    }

    private struct State {
        var changes: [Change] = []
        var paths: [Int32: String] = [:]
        var untilFailure: Int?
        var refused: Set<Call> = []
    }

    /// Calls that a test can make fail.
    enum Call: Sendable {
        case list, remove
    }

    private let system = SystemFileSystem()
    private let state: Mutex<State>
    private let code: Int32

    /// Creates a file system whose calls all fail after a number of calls.
    init(failingAfter count: Int? = nil, code: Int32 = ENOSPC) {
        state = Mutex(State(untilFailure: count))
        self.code = code
    }

    var changes: [Change] { state.withLock { $0.changes } }

    private func count() throws {
        try state.withLock { state in
            guard let left = state.untilFailure else { return }
            guard left > 0 else { throw SystemError(code: code) }
            state.untilFailure = left - 1
        }
    }

    /// Makes only the given calls fail from now on, for example as if too many files were open.
    func refuse(_ calls: Set<Call>) {
        state.withLock { $0.refused = calls }
    }

    private func check(_ call: Call) throws {
        if state.withLock({ $0.refused.contains(call) }) { throw SystemError(code: EMFILE) }
    }

    private func note(_ change: Change) {
        state.withLock { $0.changes.append(change) }
    }

    var now: Int64 { system.now }

    func makeDirectory(_ path: String) throws {
        try count()
        try system.makeDirectory(path)
        note(.makeDirectory(path))
    }

    func status(of path: String) throws -> FileStatus {
        try count()
        return try system.status(of: path)
    }

    func list(_ directory: String, _ visit: (UnsafeBufferPointer<UInt8>) -> Void) throws {
        try count()
        try check(.list)
        unsafe try system.list(directory, visit)
    }

    func open(_ path: String) throws -> Int32 {
        try count()
        return try system.open(path)
    }

    func create(_ path: String) throws -> Int32 {
        try count()
        let descriptor = try system.create(path)
        state.withLock { state in
            state.paths[descriptor] = path
            state.changes.append(.create(path))
        }
        return descriptor
    }

    func status(of descriptor: Int32) throws -> FileStatus {
        try count()
        return try system.status(of: descriptor)
    }

    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        try count()
        return unsafe try system.read(descriptor, into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64) throws {
        do {
            try count()
        } catch {
            // As on a disk that becomes full, a part is written.
            let part = unsafe UnsafeRawBufferPointer(rebasing: bytes.prefix(bytes.count / 2))
            unsafe try system.write(part, to: descriptor, at: offset)
            throw error
        }
        unsafe try system.write(bytes, to: descriptor, at: offset)
        let data = unsafe Data(bytes)
        state.withLock { $0.changes.append(.write($0.paths[descriptor] ?? "", offset, data)) }
    }

    func touch(_ descriptor: Int32) { system.touch(descriptor) }

    func close(_ descriptor: Int32) { system.close(descriptor) }

    func rename(_ path: String, to newPath: String) throws {
        try count()
        try system.rename(path, to: newPath)
        note(.rename(path, newPath))
    }

    func remove(_ path: String) throws {
        try count()
        try check(.remove)
        try system.remove(path)
        note(.remove(path))
    }
}

extension ProbingFileSystem.Change {
    /// Makes the change in another directory; of a write, only the given number of bytes.
    func replay(from folder: URL, to copy: URL, count: Int? = nil) throws {
        func place(_ path: String) -> String {
            path.replacingOccurrences(of: folder.resolvingSymlinksInPath().path, with: copy.path)
        }
        switch self {
        case .makeDirectory(let path):
            try FileManager.default.createDirectory(atPath: place(path), withIntermediateDirectories: true)
        case .create(let path):
            try Data().write(to: URL(filePath: place(path)))
        case .write(let path, let offset, let data):
            let file = try FileHandle(forUpdating: URL(filePath: place(path)))
            defer { try? file.close() }
            try file.seek(toOffset: UInt64(offset))
            try file.write(contentsOf: data.prefix(count ?? data.count))
        case .rename(let path, let newPath):
            _ = try? FileManager.default.removeItem(atPath: place(newPath))
            try FileManager.default.moveItem(atPath: place(path), toPath: place(newPath))
        case .remove(let path):
            try FileManager.default.removeItem(atPath: place(path))
        }
    }
}
