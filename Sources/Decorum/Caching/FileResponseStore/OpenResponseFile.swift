import Foundation
import HTTPTypes

/// The open file of a stored response, which stays whole when it is removed or replaced by another meanwhile.
final class OpenResponseFile: Sendable {
    let layout: ResponseFileLayout
    private let table: [UInt64]
    private let descriptor: Int32
    private let fileSystem: any FileSystem

    /// Takes over a descriptor, which it closes.
    init(_ descriptor: Int32, layout: ResponseFileLayout, table: [UInt64], fileSystem: any FileSystem) {
        self.descriptor = descriptor
        self.layout = layout
        self.table = table
        self.fileSystem = fileSystem
    }

    deinit {
        fileSystem.close(descriptor)
    }

    /// Makes the body of the response, of which each block is verified before it is given out.
    func body(onDamage: @escaping @Sendable () -> Void) -> Body {
        Body(trustedLength: layout.bodyLength, replay: .fromAnyOffset) { offset in
            ResponseFileBodyReader(file: self, onDamage: onDamage, offset: offset)
        }
    }

    /// Whether the whole body is as it was written.
    var isWhole: Bool {
        // A few blocks at a time, into the same memory.
        let step = 4
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: step * ResponseFileLayout.blockLength, alignment: 16)
        defer { unsafe buffer.deallocate() }
        return stride(from: 0, to: layout.blockCount, by: step).allSatisfy { block in
            unsafe (try? read(block..<min(block + step, layout.blockCount), into: buffer)) != nil
        }
    }

    /// Reads blocks of the body and verifies them.
    ///
    /// - Returns: The number of bytes.
    fileprivate func read(_ blocks: Range<Int>, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let start = layout.range(ofBlock: blocks.lowerBound).lowerBound
        let count = Int(layout.range(ofBlock: blocks.upperBound - 1).upperBound - start)
        let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        do {
            let offset = layout.bodyOffset + start
            guard unsafe try fileSystem.read(descriptor, into: part, at: offset) == count else {
                throw StoredBodyError()
            }
        } catch {
            throw StoredBodyError()
        }
        guard unsafe layout.isWhole(UnsafeRawBufferPointer(part), blocks: blocks, table: table[blocks]) else {
            throw StoredBodyError()
        }
        return count
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
    private static let blocksPerChunk = 4

    let file: OpenResponseFile
    let onDamage: @Sendable () -> Void
    var offset: Int64

    mutating func next() async throws -> Data? {
        guard offset < file.layout.bodyLength else { return nil }
        do {
            let chunk = try await Self.read(file, at: offset)
            offset += Int64(chunk.count)
            return chunk
        } catch let error as StoredBodyError {
            onDamage()
            throw error
        }
    }

    // The caller may be the main actor, which must not wait for a disk.
    @concurrent private static func read(_ file: OpenResponseFile, at offset: Int64) async throws -> Data {
        try Task.checkCancellation()
        let block = Int(offset / Int64(ResponseFileLayout.blockLength))
        let blocks = block..<min(block + blocksPerChunk, file.layout.blockCount)
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: blocks.count * ResponseFileLayout.blockLength, alignment: 16)
        defer { unsafe buffer.deallocate() }
        let count = unsafe try file.read(blocks, into: buffer)
        let skipped = Int(offset % Int64(ResponseFileLayout.blockLength))
        return unsafe Data(buffer[skipped..<count])
    }

    var trailers: HTTPFields? { nil }
}

/// A stored body was damaged on the disk while it was being read.
///
/// What was given out before is right, and the file is verified once more before it is found again. A body that is found
/// damaged earlier is not given out at all, so this needs a disk that fails, or somebody who writes to the files of the
/// store.
public struct StoredBodyError: DescribableError, Hashable {
    /// Creates an error.
    public init() {}

    /// What happened.
    public var description: String { "The stored body was damaged on the disk while it was being read." }
}
