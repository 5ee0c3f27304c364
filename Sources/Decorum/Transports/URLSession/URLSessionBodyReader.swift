import Foundation
import HTTPTypes

/// Reads the body of a response while it arrives.
struct URLSessionBodyReader: BodyReader {
    private let lease: TransferLease<URLSessionExchange>
    private var batch: ArraySlice<Data> = []

    init(_ lease: TransferLease<URLSessionExchange>) {
        self.lease = lease
    }

    mutating func next() async throws -> Data? {
        if !Task.isCancelled, let chunk = batch.popFirst() { return chunk }
        let exchange = lease.exchange
        return try await withTaskCancellationHandler {
            try await receive(from: exchange)
        } onCancel: {
            exchange.cancel()
        }
    }

    private mutating func receive(from exchange: URLSessionExchange) async throws -> Data? {
        while true {
            switch try exchange.buffer.take() {
            case .chunks(let chunks):
                exchange.readerHasRead()
                batch = chunks[...]
                return batch.popFirst()
            case .filed(let file, let count, let offset):
                let data = try await Self.read(count, at: offset, of: file)
                exchange.buffer.drop(count)
                exchange.readerHasRead()
                return data
            case .end:
                return nil
            case .nothing:
                await exchange.buffer.wait()
            }
        }
    }

    // The caller may be the main actor, which must not wait for a disk.
    @concurrent private static func read(
        _ count: Int, at offset: Int64, of file: URLSessionSpoolFile
    ) async throws -> Data {
        do {
            return try file.read(count, at: offset)
        } catch {
            throw TransportError(.other, at: .body, underlying: error)
        }
    }

    var trailers: HTTPFields? { nil }
}
