import Decorum
import Foundation
import Synchronization

/// Watches a body that is read once, and with it the transfer that it would own.
final class WatchedTransfer: Sendable {
    private let state = Mutex((holders: 0, bytesRead: 0))

    /// Whether the body, or what reads it, is still held by somebody.
    var isAlive: Bool { state.withLock { $0.holders > 0 } }
    var bytesRead: Int { state.withLock { $0.bytesRead } }

    func body(length: Int64? = nil, chunks: Int, of size: Int) -> Body {
        let holder = Holder(self)
        return Body(length: length, replay: .once) { _ in Reader(holder: holder, chunks: chunks, size: size) }
    }

    private final class Holder: Sendable {
        let transfer: WatchedTransfer

        init(_ transfer: WatchedTransfer) {
            self.transfer = transfer
            transfer.state.withLock { $0.holders += 1 }
        }

        deinit {
            transfer.state.withLock { $0.holders -= 1 }
        }
    }

    private struct Reader: BodyReader {
        let holder: Holder
        var chunks: Int
        let size: Int

        mutating func next() -> Data? {
            guard chunks > 0 else { return nil }
            chunks -= 1
            holder.transfer.state.withLock { $0.bytesRead += size }
            return Data(count: size)
        }
    }
}
