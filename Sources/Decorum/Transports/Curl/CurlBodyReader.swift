#if os(Linux)
import Foundation
import HTTPTypes

/// Reads the body of a response while it arrives.
struct CurlBodyReader: BodyReader {
    private let lease: TransferLease<CurlExchange>
    private var batch: ArraySlice<Data> = []

    init(_ lease: TransferLease<CurlExchange>) {
        self.lease = lease
    }

    mutating func next() async throws -> Data? {
        if !Task.isCancelled, let chunk = batch.popFirst() { return chunk }
        batch = try await lease.exchange.read()[...]
        return batch.popFirst()
    }

    var trailers: HTTPFields? { lease.exchange.trailers?.trailers }
}
#endif
