public import Decorum
public import DecorumTesting
import Foundation
public import HTTPTypes
import Synchronization

/// A body that is read once, gives a chunk for each admission of a gate, and reports whether it is still referenced.
public final class GatedTransfer: Sendable {
    /// The gate that admits each chunk.
    public let gate = Gate()
    private let state = Mutex((holders: 0, chunksRead: 0, bytesRead: 0))

    /// Creates a transfer that gives no chunk until its gate admits it.
    public init() {}

    /// A transfer that gives its chunks to every reader.
    public static var open: GatedTransfer {
        let transfer = GatedTransfer()
        transfer.gate.open()
        return transfer
    }

    /// Whether the body or its reader is still referenced.
    public var isAlive: Bool { state.withLock { $0.holders > 0 } }
    /// The number of chunks that were read.
    public var chunksRead: Int { state.withLock { $0.chunksRead } }
    /// The number of bytes that were read.
    public var bytesRead: Int { state.withLock { $0.bytesRead } }

    /// Makes a body of the bytes of ``BytePattern``.
    public func body(
        length: Int64? = nil, chunks: Int, of size: Int = 1000, trailers: HTTPFields? = nil,
        failure: (any Error)? = nil
    ) -> Body {
        let holder = Holder(self)
        return Body(length: length, replay: .once) { _ in
            Reader(holder: holder, rest: chunks, size: size, trailers: trailers, failure: failure)
        }
    }

    private final class Holder: Sendable {
        let transfer: GatedTransfer

        init(_ transfer: GatedTransfer) {
            self.transfer = transfer
            transfer.state.withLock { $0.holders += 1 }
        }

        deinit {
            transfer.state.withLock { $0.holders -= 1 }
        }
    }

    private struct Reader: BodyReader {
        let holder: Holder
        var rest: Int
        let size: Int
        let trailers: HTTPFields?
        let failure: (any Error)?
        var offset: Int64 = 0

        mutating func next() async throws -> Data? {
            try await holder.transfer.gate.wait()
            guard rest > 0 else {
                if let failure { throw failure }
                return nil
            }
            rest -= 1
            holder.transfer.state.withLock { state in
                state.chunksRead += 1
                state.bytesRead += size
            }
            defer { offset += Int64(size) }
            return BytePattern.bytes(size, at: offset)
        }
    }
}
