import Decorum
import Foundation

private func urlSession() async throws {
    let connection = URLSessionConnection(connectionsPerHost: 4, idleTimeout: .seconds(30))
    let response = try await connection.send(.get("https://example.com/feed"))
    for try await chunk in response.body { print(chunk.count) }
}

private func body<Exchange: TransportExchange>(of exchange: Exchange, _ head: HTTPResponse) -> Body {
    let lease = TransferLease(exchange)
    let body = Body(length: head.contentLength, replay: .once) { _ in ExchangeReader(lease: lease) }
    return body
}

private struct ExchangeReader<Exchange: TransportExchange>: BodyReader {
    let lease: TransferLease<Exchange>
    let trailers: HTTPFields? = nil

    mutating func next() async throws -> Data? { nil }
}
