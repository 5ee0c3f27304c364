import Foundation
import HTTPTypes
import Synchronization

/// The shape of the protocol by which a client of swift-openapi-generator sends its requests, as of its version 1.
///
/// That package cannot be a dependency of this one. Only the names and types are as there, so that the transport of the page
/// “Coming from middlewares of swift-openapi-runtime” compiles with either.
protocol ClientTransport: Sendable {
    @concurrent func send(
        _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?)
}

/// How often a body may be read.
enum IterationBehavior: Sendable {
    case single
    case multiple
}

/// A sequence of chunks, which is read once or any number of times.
final class HTTPBody: AsyncSequence, Sendable {
    typealias ByteChunk = ArraySlice<UInt8>

    enum Length: Sendable, Equatable {
        case unknown
        case known(Int64)
    }

    let length: Length
    let iterationBehavior: IterationBehavior
    private let open: @Sendable () -> Iterator
    private let isOpened = Mutex(false)

    init<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Length, iterationBehavior: IterationBehavior
    ) where Chunks.Element == ByteChunk {
        self.length = length
        self.iterationBehavior = iterationBehavior
        open = { Iterator(chunks) }
    }

    func makeAsyncIterator() -> Iterator {
        let isFirst = isOpened.withLock { isOpened in
            defer { isOpened = true }
            return !isOpened
        }
        return isFirst || iterationBehavior == .multiple ? open() : Iterator(failing: SecondIterationError())
    }

    struct Iterator: AsyncIteratorProtocol {
        private let produce: @concurrent () async throws -> ByteChunk?

        init<Chunks: AsyncSequence>(_ chunks: Chunks) where Chunks.Element == ByteChunk {
            var iterator = chunks.makeAsyncIterator()
            produce = { try await iterator.next() }
        }

        init(failing error: any Error) {
            produce = { throw error }
        }

        // That package does not run where its caller does.
        @concurrent mutating func next() async throws -> ByteChunk? { try await produce() }
    }

    struct SecondIterationError: Error {}
}
