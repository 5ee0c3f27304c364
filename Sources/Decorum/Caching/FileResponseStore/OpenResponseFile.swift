import Foundation
import HTTPTypes
import Synchronization

/// The open file of a stored response, which stays readable when it is removed or replaced meanwhile.
final class OpenResponseFile: Sendable {
    let layout: ResponseFileLayout
    private let table: [UInt64]
    private let descriptor: Int32
    private let openFiles: OpenFiles

    /// Takes over a descriptor, which it closes.
    fileprivate init(_ descriptor: Int32, layout: ResponseFileLayout, table: [UInt64], openFiles: OpenFiles) {
        self.descriptor = descriptor
        self.layout = layout
        self.table = table
        self.openFiles = openFiles
    }

    deinit {
        openFiles.close(descriptor)
    }

    /// Makes the body of the response, of which each block is verified before it is given out.
    func body(onDamage: @escaping @Sendable () -> Void) -> Body {
        Body(trustedLength: layout.bodyLength, replay: .fromAnyOffset) { offset in
            ResponseFileBodyReader(file: self, onDamage: onDamage, offset: offset)
        }
    }

    /// Whether the whole body is undamaged.
    var isWhole: Bool {
        // A few blocks at a time, into the same memory.
        let step = 4
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: step * ResponseFileLayout.blockLength, alignment: 16)
        defer { unsafe buffer.deallocate() }
        return stride(from: 0, to: layout.blockCount, by: step).allSatisfy { block in
            unsafe (try? read(block..<min(block + step, layout.blockCount), into: buffer, mayWait: true)) != nil
        }
    }

    /// Reads blocks of the body and verifies them.
    ///
    /// - Returns: The number of bytes.
    private func read(
        _ blocks: Range<Int>, into buffer: UnsafeMutableRawBufferPointer, mayWait: Bool
    ) throws -> Int {
        let start = layout.range(ofBlock: blocks.lowerBound).lowerBound
        let count = Int(layout.range(ofBlock: blocks.upperBound - 1).upperBound - start)
        let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        do {
            let offset = layout.bodyOffset + start
            let fileSystem = openFiles.fileSystem
            guard unsafe try fileSystem.read(descriptor, into: part, at: offset, mayWait: mayWait) == count else {
                throw StoredBodyError()
            }
        } catch SystemError.mustWait where !mayWait {
            throw SystemError.mustWait
        } catch {
            throw StoredBodyError()
        }
        guard unsafe layout.isWhole(UnsafeRawBufferPointer(part), blocks: blocks, table: table[blocks]) else {
            throw StoredBodyError()
        }
        return count
    }

    private static let blocksPerChunk = 4

    /// Reads the next chunk of the body, at once if the bytes are in memory.
    fileprivate func chunk(at offset: Int64) async throws -> Data {
        do {
            return try chunk(at: offset, mayWait: false)
        } catch SystemError.mustWait {
            return try await openFiles.threads.reading.perform { [self] in try chunk(at: offset, mayWait: true) }
        }
    }

    private func chunk(at offset: Int64, mayWait: Bool) throws -> Data {
        let block = Int(offset / Int64(ResponseFileLayout.blockLength))
        let blocks = block..<min(block + Self.blocksPerChunk, layout.blockCount)
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: blocks.count * ResponseFileLayout.blockLength, alignment: 16)
        defer { unsafe buffer.deallocate() }
        let count = unsafe try read(blocks, into: buffer, mayWait: mayWait)
        let skipped = Int(offset % Int64(ResponseFileLayout.blockLength))
        return unsafe Data(buffer[skipped..<count])
    }
}

/// The open files of one store, whose number is bounded, since a process can only open so many.
///
/// Above the bound, a lookup finds no large response. To close a file and open it again for its next part would find
/// another response in its place when it was replaced meanwhile, and the caller's body would end in an error.
final class OpenFiles: Sendable {
    static let limit = 128

    let fileSystem: any FileSystem
    let threads: DiskThreads
    private let count = Mutex(0)

    init(_ fileSystem: any FileSystem, threads: DiskThreads) {
        self.fileSystem = fileSystem
        self.threads = threads
    }

    /// Takes over a descriptor; nil when too many files are open, and then the caller closes it.
    func hold(_ descriptor: Int32, layout: ResponseFileLayout, table: [UInt64]) -> OpenResponseFile? {
        let isHeld = count.withLock { count in
            guard count < Self.limit else { return false }
            count += 1
            return true
        }
        return isHeld ? OpenResponseFile(descriptor, layout: layout, table: table, openFiles: self) : nil
    }

    /// Closes a file on a thread that may wait, since the last one to close a removed file has its blocks freed.
    fileprivate func close(_ descriptor: Int32) {
        threads.reading.start { [self] in
            fileSystem.close(descriptor)
            count.withLock { $0 -= 1 }
        }
    }
}

extension ResponseFileLayout {
    /// Whether bytes are those of blocks with certain checksums.
    func isWhole(_ bytes: UnsafeRawBufferPointer, blocks: Range<Int>, table: some Collection<UInt64>) -> Bool {
        var rest = unsafe bytes[...]
        for (block, checksum) in zip(blocks, table) {
            let bytes = unsafe UnsafeRawBufferPointer(rebasing: rest.prefix(Self.blockLength))
            unsafe rest = rest.dropFirst(Self.blockLength)
            guard unsafe Checksum.of(bytes, seed: Self.seed(ofBlock: block, nonce: nonce)) == checksum else {
                return false
            }
        }
        return true
    }
}

private struct ResponseFileBodyReader: BodyReader {
    let file: OpenResponseFile
    let onDamage: @Sendable () -> Void
    var offset: Int64

    mutating func next() async throws -> Data? {
        guard offset < file.layout.bodyLength else { return nil }
        try Task.checkCancellation()
        do {
            let chunk = try await file.chunk(at: offset)
            offset += Int64(chunk.count)
            return chunk
        } catch let error as StoredBodyError {
            onDamage()
            throw error
        }
    }

    var trailers: HTTPFields? { nil }
}

/// A stored body was damaged on the disk while it was being read.
///
/// The bytes that were returned before are correct, and the file is verified again before it is used again. A body that
/// is found damaged earlier is not returned at all. So this error needs a failing disk, or another program that writes
/// to the files of the store.
public struct StoredBodyError: DescribableError, Hashable {
    /// Creates an error.
    public init() {}

    /// A sentence that says what happened.
    public var description: String { "The stored body was damaged on the disk while it was being read." }
}
