public import Decorum
import Foundation
import Synchronization

extension Connection {
    /// Answers from a cassette, and records what this connection answers where the cassette's mode asks for it.
    ///
    /// It stands above any layer and records that layer's view: above retries, one interaction for all attempts. A
    /// cassette in place of the transport is a ``CassetteConnection``, which has nothing behind it while it is replayed.
    ///
    /// ```swift
    /// let connection = SystemConnection().retrying().recording(on: cassette)
    /// ```
    ///
    /// - Parameter cassette: The cassette.
    /// - Returns: A connection that plays and records.
    public func recording(on cassette: Cassette) -> some Connection {
        CassetteConnection(cassette, recording: self)
    }
}

/// A connection that answers from a cassette, and records what it may.
///
/// It stands where the transport would, so that every layer above is tested as it is. While a cassette is replayed,
/// there is no connection behind it to which a request could leak.
///
/// Sending throws ``CassetteMissError`` where nothing that is recorded matches, and `TransportError` where a failure was
/// recorded.
public struct CassetteConnection: Connection {
    private let cassette: Cassette
    private let upstream: Upstream?

    /// Creates a connection.
    ///
    /// - Parameters:
    ///   - cassette: The cassette.
    ///   - upstream: What answers where something is recorded; it is not even made while the cassette is replayed.
    public init(
        _ cassette: Cassette,
        recording upstream: @escaping @autoclosure @Sendable () -> any Connection = SystemConnection()
    ) {
        self.cassette = cassette
        self.upstream = cassette.mode == .replay ? nil : Upstream(upstream)
    }

    /// Creates a connection to the cassette of the test that runs.
    ///
    /// - Parameter upstream: What answers where something is recorded.
    /// - Throws: ``NoCassetteError`` outside of a test that has one.
    public init(recording upstream: @escaping @autoclosure @Sendable () -> any Connection = SystemConnection()) throws {
        guard let cassette = Cassette.current else { throw NoCassetteError() }
        self.init(cassette, recording: upstream())
    }

    /// The cassette, and what is behind it.
    public var layers: [Layer] {
        let layer = Layer(
            name: "CassetteConnection", role: .transport,
            settings: [.init("mode", cassette.mode.rawValue), .init("cassette", cassette.file.lastPathComponent)],
            facts: [.answers, .records])
        return [layer] + (upstream?.connection.layers ?? [])
    }

    /// Answers with the recorded response, or sends the request on and records what comes back.
    public func send(_ request: consuming Request) async throws -> Response {
        try Task.checkCancellation()
        guard let connection = upstream?.connection else {
            request.reportSending()
            let recorded = try await RecordedRequest(reading: request, in: cassette)
            return try await cassette.played(try cassette.play(recorded))
        }
        var request = request
        switch cassette.mode {
        case .live, .replay, .once: return try await connection.send(request)
        case .append:
            // What answers depends on the content, which is therefore read first.
            let recorded = try await RecordedRequest(reading: request, in: cassette)
            if let outcome = try cassette.playIfRecorded(recorded) {
                request.reportSending()
                return try await cassette.played(outcome)
            }
            request.body = request.body.replay == .once ? Body(recorded.body.bytes) : request.body
            return try await send(request, through: connection, recording: cassette.record(recorded))
        case .rewrite, .verify:
            let recording = cassette.record(RecordedRequest(request.head, secretFields: request.options.secretFields))
            if let bytes = request.body.bytes {
                recording.observeRequest(.chunk(bytes))
            } else {
                request.body = request.body.observed { recording.observeRequest($0) }
            }
            return try await send(request, through: connection, recording: recording)
        }
    }

    private func send(
        _ request: consuming Request, through connection: any Connection, recording: ExchangeRecording
    ) async throws -> Response {
        do {
            return recording.record(try await connection.send(request))
        } catch {
            recording.record(error)
            throw error
        }
    }
}

/// The connection that is recorded, made when it is first needed.
private final class Upstream: Sendable {
    private let make: @Sendable () -> any Connection
    private let made = Mutex<(any Connection)?>(nil)

    init(_ make: @escaping @Sendable () -> any Connection) {
        self.make = make
    }

    var connection: any Connection {
        made.withLock { made in
            let connection = made ?? make()
            made = connection
            return connection
        }
    }
}

/// There is no cassette, since no test that has one is running in this task.
public struct NoCassetteError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What to do.
    public var description: String {
        "No test with a cassette runs in this task; write @Test(.cassette), or use withCassette."
    }
}
