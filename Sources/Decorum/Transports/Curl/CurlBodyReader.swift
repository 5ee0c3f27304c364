#if os(Linux)
import Foundation
import HTTPTypes

/// Reads the body of a response while it arrives.
struct CurlBodyReader: BodyReader {
    private let lease: TransferLease<CurlExchange>
    private var batch: ArraySlice<Data> = []
    // Of the reader itself, as the exchange forgets its end where the caller is cancelled after it.
    private(set) var trailers: HTTPFields?

    init(_ lease: TransferLease<CurlExchange>) {
        self.lease = lease
    }

    mutating func next() async throws -> Data? {
        if !Task.isCancelled, let chunk = batch.popFirst() { return chunk }
        switch try await lease.exchange.read() {
        case .content(let chunks): batch = chunks[...]
        case .end(let lines): (batch, trailers) = ([], lines.trailers)
        }
        return batch.popFirst()
    }
}
#endif
