#if AsyncHTTPClient
import Decorum
import Foundation

/// Reads the body of a response while it arrives.
struct AsyncHTTPClientBodyReader: BodyReader {
    private let lease: TransferLease<AsyncHTTPClientExchange>
    private var batch: ArraySlice<Data> = []

    init(_ lease: TransferLease<AsyncHTTPClientExchange>) {
        self.lease = lease
    }

    mutating func next() async throws -> Data? {
        if !Task.isCancelled, let chunk = batch.popFirst() { return chunk }
        batch = try await lease.exchange.receivedChunks()[...]
        return batch.popFirst()
    }

    var trailers: HTTPFields? { nil }
}
#endif
