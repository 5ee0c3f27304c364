import Decorum
import Foundation
import HTTPTypes

extension ActivePath {
    typealias Outcome = Result<Response, any Error>
    /// Answers a request of the last call, by its number within this call and what the path answers.
    typealias Answering = @Sendable (_ request: Request, _ number: Int, _ outcome: Outcome) async throws -> Response

    /// Sends a request through a decorator along the path; the law answers the last call, and the path those before it.
    func provoke(
        _ subject: DecoratorSubject, with request: Request, on conditions: DecoratorConditions = .init(),
        _ answering: @escaping Answering
    ) async throws -> Provoked {
        let primed = Monitor(0)
        let primingCount = Monitor(0)
        let probe = Probe { [self] request, number in
            let outcome = Outcome { try answer(request.head, number) }
            guard primed.state == calls - 1 else {
                primingCount.update { $0 = number }
                var response = try outcome.get()
                if response.lacksContent(for: request.head.method) { response.body = Body(Response.primedText) }
                return response
            }
            return try await answering(request, number - primingCount.state, outcome)
        }
        let connection = try subject.connection(over: probe, on: conditions)
        while primed.state < calls - 1 {
            _ = try? await connection.send(request).body.collectAll()
            primed.update { $0 += 1 }
        }
        let result: Result<Response, any Error>
        do {
            result = .success(try await connection.send(request))
        } catch {
            result = .failure(error)
        }
        let sent = Array(probe.requests.dropFirst(primingCount.state))
        return Provoked(
            sent: sent, requests: sent.filter { !subject.isOwnRequest($0.head) }, result: result,
            own: try subject.ownLayers(over: probe), connection: connection)
    }

    /// Sends a request through a decorator along the path, with the path's own answers in memory.
    func provoke(_ subject: DecoratorSubject, chunks: Int = 5) async throws -> Provoked {
        try await provoke(subject, with: try request()) { request, _, outcome in
            try await outcome.get().carried(for: request.head.method, chunks: chunks).inMemory()
        }
    }

    /// The response that a path leads to.
    ///
    /// - Returns: The response; nil where the decorator throws by design, as it does with bodies in memory too.
    /// - Throws: The error of a decorator that has no reason for one.
    func response(of provoked: consuming Provoked, by subject: DecoratorSubject) async throws -> Response? {
        switch provoked.result {
        case .success(let response):
            return response
        case .failure(let error):
            guard !isOfLaws, case .failure = try await provoke(subject).result else { throw error }
            return nil
        }
    }
}

/// The outcome of an exchange that a law has put a decorator through.
struct Provoked: Sendable {
    /// All requests of the last call, including those that the decorator made itself.
    let sent: [Request]
    /// The requests of the caller that the last call has sent.
    let requests: [Request]
    let result: Result<Response, any Error>
    /// The layers that the decorator is made of.
    let own: [Layer]
    /// The decorator, which outlives its calls.
    let connection: any Connection

    /// The error that the decorator threw; nil where it has returned.
    var error: (any Error)? {
        guard case .failure(let error) = result else { return nil }
        return error
    }

    /// Whether the decorator says that it may answer in the base's place.
    var mayAnswer: Bool { own.contains { $0.facts.contains(.answers) } }
}

/// An answer whose content records how it is read.
struct CarriedAnswer: Sendable {
    var response: Response
    /// The content; empty where the answer has none.
    let content: BodyProbe
    let chunks: Int

    /// The answer with its content in memory.
    func inMemory() -> Response {
        var response = response
        response.body = Body(content.data(chunks: chunks))
        return response
    }
}

extension Response {
    /// Whether the response may have content, and has none.
    func lacksContent(for method: HTTPRequest.Method) -> Bool {
        body.isEmpty && head.mayHaveContent(for: method)
    }

    /// The response with a body that can be read once: its content, or a pattern where it may have content but has none.
    func carried(
        for method: HTTPRequest.Method, chunks: Int, knowingLength: Bool = false, trailers: HTTPFields? = nil,
        failure: (any Error)? = nil, gate: Gate? = nil
    ) async throws -> CarriedAnswer {
        var response = self
        guard head.mayHaveContent(for: method) else {
            return CarriedAnswer(response: response, content: BodyProbe(.bytes(Data())), chunks: 0)
        }
        let data = try await body.collectAll().data
        let content = BodyProbe(data.isEmpty ? .pattern : .bytes(data))
        response.body = content.body(
            chunks: chunks, knowingLength: knowingLength, trailers: trailers, failure: failure, gate: gate)
        return CarriedAnswer(response: response, content: content, chunks: chunks)
    }
}

extension HTTPResponse {
    /// Whether there may be content behind the head (RFC 9110, section 6.4.1).
    func mayHaveContent(for method: HTTPRequest.Method) -> Bool {
        method != .head && status.kind != .informational && status != .noContent && status != .notModified
    }
}

extension Response {
    /// The content of the answers to the calls before the last one of a path.
    static let primedText = "primed"
}
