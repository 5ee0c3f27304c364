public import Foundation
public import HTTPTypes
import Synchronization

extension Body {
    /// Reads the whole body into memory, together with its trailer fields.
    ///
    /// - Parameter limit: The largest number of bytes to accept.
    /// - Returns: The content and the trailer fields, which are empty where there are none.
    /// - Throws: ``BodyLimitError`` as soon as there are more bytes, ``BodyReadTwiceError``, or what keeps the body
    ///   from being read.
    public func collect(upTo limit: Int) async throws -> (data: Data, trailers: HTTPFields) {
        guard length ?? 0 <= limit else { throw BodyLimitError(limit: limit) }
        if let bytes { return (bytes, [:]) }

        var reader = try await open()
        var data = Data()
        while let chunk = try await reader.next() {
            guard data.count + chunk.count <= limit else { throw BodyLimitError(limit: limit) }
            data.append(chunk)
        }
        return (data, reader.trailers ?? [:])
    }

    /// Reads the whole body into memory.
    ///
    /// - Parameter limit: The largest number of bytes to accept.
    /// - Returns: The content.
    /// - Throws: As ``collect(upTo:)``.
    public func data(upTo limit: Int) async throws -> Data {
        try await collect(upTo: limit).data
    }

    /// Reads the whole body as text in UTF-8; bytes that are none become U+FFFD.
    ///
    /// - Parameter limit: The largest number of bytes to accept.
    /// - Returns: The content.
    /// - Throws: As ``collect(upTo:)``.
    public func text(upTo limit: Int) async throws -> String {
        String(decoding: try await data(upTo: limit), as: UTF8.self)
    }

    /// Reads the whole body as JSON.
    ///
    /// It decodes where its caller runs, so that types of the main actor can be decoded there. Call it from a
    /// `@concurrent` function for content that is large enough to be felt.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - limit: The largest number of bytes to accept.
    ///   - decoder: The decoder.
    /// - Returns: The decoded value.
    /// - Throws: As ``collect(upTo:)``, or the decoder's error.
    public func decode<Value: Decodable>(
        _ type: Value.Type, upTo limit: Int, using decoder: JSONDecoder = JSONDecoder()
    ) async throws -> Value {
        try decoder.decode(type, from: await data(upTo: limit))
    }

    /// Reads the body to its end and lets go of it, so that the connection can serve another request.
    ///
    /// - Parameter limit: The largest number of bytes to read.
    /// - Returns: Whether the end was reached; if not, the rest of the transfer is given up.
    /// - Throws: `CancellationError`; any other failure to read counts as an end that was not reached.
    @discardableResult public func drain(upTo limit: Int) async throws -> Bool {
        guard length ?? 0 <= limit else { return false }
        do {
            var reader = try await open()
            var count = 0
            while let chunk = try await reader.next() {
                count += chunk.count
                guard count <= limit else { return false }
            }
            return true
        } catch let error as CancellationError {
            throw error
        } catch {
            return false
        }
    }
}

extension Body {
    /// Reads what is left of a response that nobody wants, so that its connection can serve another request.
    ///
    /// A body that is long or slow is let go instead: a new connection costs less than waiting for it.
    func discard(on clock: any DatedClock) async throws {
        let limit = 16 << 10
        guard bytes == nil, length ?? 1 > 0, length ?? 0 <= limit else { return }
        // A task outlives its end by a little: what it captured would keep the transfer until then.
        let unwanted = UnwantedBody(self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try await unwanted.take()?.drain(upTo: limit) }
            group.addTask { try await clock.sleep(for: .seconds(1)) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

private final class UnwantedBody: Sendable {
    private let body: Mutex<Body?>

    init(_ body: Body) {
        self.body = Mutex(body)
    }

    func take() -> Body? {
        body.withLock { $0.take() }
    }
}

/// A body has more bytes than the caller wants to hold.
public struct BodyLimitError: DescribableError, Hashable {
    /// The largest number of bytes that was acceptable.
    public let limit: Int

    /// Creates an error.
    ///
    /// - Parameter limit: The largest number of bytes that was acceptable.
    public init(limit: Int) {
        self.limit = limit
    }

    /// What happened.
    public var description: String { "The body has more than \(limit) bytes." }
}
