import Foundation
import Synchronization

/// Collects a body that is still being received.
final class MemoryResponseWriter: ResponseWriter {
    private let response: StoredResponse
    private let key: ResponseKey
    private let ticket: StoreTicket
    private let store: MemoryResponseStore
    private let content = IncomingContent()
    /// The number under which the store counts the bytes.
    private let number: Int

    init(response: StoredResponse, key: ResponseKey, ticket: StoreTicket, store: MemoryResponseStore) {
        self.response = response
        self.key = key
        self.ticket = ticket
        self.store = store
        number = store.begin(content)
    }

    deinit {
        store.abandon(number)
    }

    func write(_ chunk: Data) -> Bool {
        guard store.reserve(chunk.count, for: number) else {
            content.clear()
            return false
        }
        content.append(chunk)
        return true
    }

    @discardableResult
    func finish() -> Bool {
        var response = response
        response.body = Body(content.take())
        return store.complete(response, for: key, with: ticket, number)
    }
}

/// The bytes of a body that is being received, which the store may let go to make room.
final class IncomingContent: Sendable {
    private let bytes = Mutex(Data())

    func append(_ chunk: Data) {
        bytes.withLock { $0.append(chunk) }
    }

    func clear() {
        bytes.withLock { $0 = Data() }
    }

    func take() -> Data {
        bytes.withLock { bytes in
            defer { bytes = Data() }
            return bytes
        }
    }
}
