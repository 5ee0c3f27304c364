import Decorum
import Foundation
import HTTPTypes

/// Content of requests that cannot be sent whole.
extension TransportCase {
    /// A server that breaks off without an answer may have used a part of the content.
    public static let brokenUpload = TransportCase(
        "brokenUpload", "A connection that breaks within the content fails as lost, before the head."
    ) { subject in
        let bench = try await subject.bench()
        for body in [Body(BytePattern.bytes(8 << 20)), Upload(count: 8 << 20).body()] {
            bench.origin.enqueue(.script(.receive(atLeast: 1 << 20), .reset), answering: .afterHead)
            let request = try bench.request(.put, body: body)
            try await requireTransportError(of: [.connectionLost], at: .head, "A server that breaks off") {
                _ = try await bench.connection.send(request)
            }
        }
        try await bench.requireUsable(after: "a broken upload")
    }

    /// A body that fails makes the request incomplete, and its error is the underlying one.
    public static let failingUpload = TransportCase(
        "failingUpload", "A body that fails is the underlying error, and never arrives as if it were complete."
    ) { subject in
        let bench = try await subject.bench()
        for knowsLength in [true, false] {
            // The failure takes the place of the last chunk: behind it, all content of a known length has been sent.
            let probe = BodyProbe(.bytes(BytePattern.bytes(80 << 10)))
            let body = probe.body(chunks: 5, knowingLength: knowsLength, failure: UploadFailure())
            try await requireUnreadable(body, UploadFailure.self, on: bench)
        }
        try requireEqual(bench.origin.requests.count(where: \.isComplete), 0, "The number of complete requests")
        try await bench.requireUsable(after: "a body that failed")
    }

    /// A body that is shorter or longer than its length is no complete request.
    public static let wrongLength = TransportCase(
        "wrongLength",
        "A body of another length than it announces fails, and never arrives as if it were complete."
    ) { subject in
        let bench = try await subject.bench()
        for length in [9_999, 10_001] {
            let body = Body(
                chunks: AsyncStream { continuation in
                    for start in stride(from: 0, to: 10_000, by: 1000) {
                        continuation.yield(BytePattern.bytes(1000, at: Int64(start)))
                    }
                    continuation.finish()
                }, length: Int64(length))
            try await requireUnreadable(body, BodyLengthError.self, on: bench)
        }
        try requireEqual(bench.origin.requests.count(where: \.isComplete), 0, "The number of complete requests")
    }

    /// A body that was read already is never sent as an empty one.
    public static let spentBody = TransportCase(
        "spentBody", "A body that was read already fails, and is not sent empty."
    ) { subject in
        let bench = try await subject.bench()
        let body = Upload(count: 10).body()
        _ = try await bench.send(.post, to: .init(), body: body)
        try await requireUnreadable(body, BodyReadTwiceError.self, on: bench)
        try requireEqual(
            bench.origin.requests.filter(\.isComplete).map(\.bodyLength), [10], "The contents that arrived")
    }

    private static func requireUnreadable(
        _ body: Body, _ type: (some Error).Type, on bench: TransportBench
    ) async throws {
        let request = try bench.request(.post, "/unreadable", body: body)
        do {
            _ = try await bench.connection.send(request)
        } catch let error as TransportError {
            try requireEqual(error.code, .unreadableBody, "The code of the error")
            let underlying = error.underlying.map { Swift.type(of: $0) }
            try require(underlying == type, "The underlying error is \(String(describing: underlying)), not \(type).")
            return
        }
        throw ConformanceFailure("A body that cannot be read was sent.")
    }
}

private struct UploadFailure: Error {}
