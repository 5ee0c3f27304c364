public import Decorum
import Foundation
import Synchronization

extension Connection {
    /// Answers from a cassette, and records the answers of this connection if the cassette's mode asks for it.
    ///
    /// It wraps any layer, and records the exchanges with that layer: around retries, one interaction for all attempts.
    /// To put a cassette in place of the transport, use ``CassetteConnection``, which has no connection behind it while
    /// the cassette is replayed.
    ///
    /// ```swift
    /// let connection = SystemConnection().retrying().recording(on: cassette)
    /// ```
    public func recording(on cassette: Cassette) -> some Connection {
        CassetteConnection(cassette, recording: self)
    }
}

/// A connection that answers from a cassette, and records if the cassette's mode allows it.
///
/// It takes the place of the transport, so that every layer above is tested unchanged. While a cassette is replayed,
/// there is no connection behind it to which a request could leak.
///
/// Sending throws ``CassetteMissError`` if no recorded interaction matches, and `TransportError` if a failure was
/// recorded.
public struct CassetteConnection: Connection {
    private let cassette: Cassette
    private let upstream: Upstream?

    /// Creates a connection.
    ///
    /// - Parameters:
    ///   - cassette: The cassette.
    ///   - upstream: The connection that answers while something is recorded; it is not created while the cassette is
    ///     replayed.
    public init(
        _ cassette: Cassette,
        recording upstream: @escaping @autoclosure @Sendable () -> any Connection = SystemConnection()
    ) {
        self.cassette = cassette
        self.upstream = cassette.needsConnection ? Upstream(upstream) : nil
    }

    /// Creates a connection to the cassette of the test that runs.
    ///
    /// - Parameter upstream: The connection that answers while something is recorded.
    /// - Throws: ``NoCassetteError`` outside of a test that has a cassette.
    public init(recording upstream: @escaping @autoclosure @Sendable () -> any Connection = SystemConnection()) throws {
        guard let cassette = Cassette.current else { throw NoCassetteError() }
        self.init(cassette, recording: upstream())
    }

    /// One layer, whose branch has the layers of the connection that is recorded.
    public var layers: [Layer] {
        let branches = upstream.map { [Layer.Branch("upstream", $0.connection.layers)] } ?? []
        return [
            Layer(
                name: "CassetteConnection", role: .transport,
                settings: [.init("mode", cassette.mode.rawValue), .init("cassette", cassette.file.lastPathComponent)],
                facts: branches.isEmpty ? [.answers] : [.answers, .records, .redacts],
                sending: .init(branches.isEmpty ? 0...0 : 0...1, branches: branches),
                memory: .init(bytes: .unbounded, state: [.init(cassette)]))
        ]
    }

    /// Answers with the recorded response, or forwards the request and records the answer.
    public func send(_ request: consuming Request) async throws -> Response {
        try Task.checkCancellation()
        guard let upstream else { return try await play(request) }
        var request = request
        if cassette.rules.passedHosts.contains(request.head) { return try await upstream.send(request) }
        switch cassette.mode {
        case .live, .once:
            try cassette.checkSafety(of: request)
            return try await upstream.send(request)
        case .replay where !cassette.rules.liveHosts.contains(request.head): return try await play(request)
        case .replay, .append:
            // The content decides which interaction answers, so it is read first.
            let recorded = try await RecordedRequest(reading: request, in: cassette)
            if let outcome = try cassette.playIfRecorded(recorded) {
                request.reportSending()
                return try await cassette.played(outcome, for: recorded, to: request)
            }
            try cassette.checkSafety(of: request)
            try cassette.checkPlaceholders(in: recorded)
            if request.body.replay == .once { request.body = Body(recorded.body.bytes) }
            guard cassette.mode == .append else { return try await upstream.send(request) }
            let recording = cassette.record(recorded, masking: request.options.secretQueryItems)
            return try await send(request, through: upstream, recording: recording)
        case .rewrite, .verify:
            try cassette.checkSafety(of: request)
            try cassette.checkNumber(of: request)
            let recording = cassette.record(
                RecordedRequest(request.head, declaredBy: request.options), masking: request.options.secretQueryItems)
            if let bytes = request.body.bytes {
                recording.observeRequest(.chunk(bytes))
            } else {
                request.body = request.body.observed { recording.observeRequest($0) }
            }
            return try await send(request, through: upstream, recording: recording)
        }
    }

    private func play(_ request: consuming Request) async throws -> Response {
        request.reportSending()
        let recorded = try await RecordedRequest(reading: request, in: cassette)
        return try await cassette.played(try cassette.play(recorded), for: recorded, to: request)
    }

    private func send(
        _ request: consuming Request, through upstream: Upstream, recording: ExchangeRecording
    ) async throws -> Response {
        do {
            let response = try await upstream.send(request)
            return recording.record(response, answered: cassette.nextEvent())
        } catch {
            recording.record(error, answered: cassette.nextEvent())
            throw error
        }
    }
}

/// The connection that is recorded, created at its first use.
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

    /// Sends a request to a server, which takes the time of the machine whatever the clock of the test is.
    func send(_ request: consuming Request) async throws -> Response {
        request.options.moveDeadlinesToMachineTime()
        return try await connection.send(request)
    }
}

/// There is no cassette, because no test with a cassette is running in this task.
public struct NoCassetteError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The cause and the remedy.
    public var description: String {
        """
        This task belongs to no test with a cassette.
        fix: write `@Test(.cassette)`, or use `withCassette`; in a task of `Task.detached`, or of a queue, make the \
        connection before the task starts, or pass `Cassette.current` to it and use `CassetteConnection(_:recording:)`
        """
    }
}
