import Foundation
import Synchronization

extension ResponseStore {
    /// Starts to keep a response, whose body is gathered in memory up to ``bodyLimit`` and then stored at once.
    ///
    /// - Parameters:
    ///   - response: The response without its body.
    ///   - key: The key of the response.
    ///   - ticket: The ticket of the request that the response answers.
    /// - Returns: A writer for the body.
    public func writer(
        for response: StoredResponse, key: ResponseKey, with ticket: StoreTicket
    ) async -> (any ResponseWriter)? {
        BufferingResponseWriter(response: response, key: key, ticket: ticket, store: self)
    }
}

/// Collects a body in memory for a store that takes whole bodies.
private final class BufferingResponseWriter<Store: ResponseStore>: ResponseWriter {
    private let response: StoredResponse
    private let key: ResponseKey
    private let ticket: StoreTicket
    private let store: Store
    private let content = Mutex(Data())

    init(response: StoredResponse, key: ResponseKey, ticket: StoreTicket, store: Store) {
        self.response = response
        self.key = key
        self.ticket = ticket
        self.store = store
    }

    func write(_ chunk: Data) async -> Bool {
        content.withLock { content in
            guard content.count + chunk.count <= store.bodyLimit else { return false }
            content.append(chunk)
            return true
        }
    }

    func finish() async -> Bool {
        var response = response
        response.body = Body(content.withLock { $0 })
        return await store.store(response, for: key, with: ticket)
    }
}
