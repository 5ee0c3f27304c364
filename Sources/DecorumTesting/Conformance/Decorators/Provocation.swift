import Decorum
import HTTPTypes

/// A way to answer that gives a decorator something to do.
struct Provocation: Sendable, CustomStringConvertible {
    typealias Outcome = Result<HTTPResponse, any Error>

    let description: String
    /// How many requests it takes to provoke; the responses to all but the last are read to their ends.
    let calls: Int
    let outcome: @Sendable (_ number: Int, _ request: HTTPRequest) -> Outcome

    private init(
        _ description: String, calls: Int = 1, _ outcome: @escaping @Sendable (Int, HTTPRequest) -> Outcome
    ) {
        self.description = description
        self.calls = calls
        self.outcome = outcome
    }

    /// All of them.
    static let all: [Provocation] = statuses + redirections + failures + [changedValidator, fresh]

    /// Asks for another attempt, with every kind of challenge.
    private static let statuses = [401, 407, 408, 412, 421, 425, 429, 500, 502, 503, 504].map { code in
        Provocation("a \(code)") { number, _ in
            guard number == 1 else { return .success(.ok) }
            return .success(
                HTTPResponse(
                    status: .init(code: code),
                    headerFields: [
                        .retryAfter: "0", .wwwAuthenticate: #"Basic realm="x", Bearer"#,
                        .proxyAuthenticate: #"Basic realm="x""#,
                    ]))
        }
    }

    private static let redirections = [301, 302, 303, 307, 308].map { code in
        Provocation("a \(code)") { number, _ in
            guard number == 1 else { return .success(.ok) }
            return .success(HTTPResponse(status: .init(code: code), headerFields: [.location: "/elsewhere"]))
        }
    }

    private static let failures = [
        TransportError(.connectionRefused, at: .connecting), TransportError(.connectionLost, at: .head),
    ].map { error in
        Provocation("the failure \(error.code)") { number, _ in number == 1 ? .failure(error) : .success(.ok) }
    }

    /// Confirms a response that is not the one it was asked about.
    private static let changedValidator = Provocation("a 304 for another ETag", calls: 2) { number, request in
        let isConditional = request.headerFields.contains(.ifNoneMatch)
        return .success(
            HTTPResponse(
                status: isConditional ? .notModified : .ok, headerFields: [.eTag: number == 1 ? #""1""# : #""2""#]))
    }

    private static let fresh = Provocation("a response that stays fresh", calls: 2) { _, _ in
        .success(HTTPResponse(status: .ok, headerFields: [.cacheControl: "public, max-age=3600", .eTag: #""1""#]))
    }
}

extension HTTPResponse {
    static let ok = HTTPResponse(status: .ok)
}

extension Provocation {
    /// Provokes with one kind of request, whose answers the law makes of the outcomes, except for the priming ones.
    func provoke(
        _ subject: DecoratorSubject, with request: Request,
        _ answer: @escaping @Sendable (_ request: Request, _ number: Int, _ outcome: Outcome) async throws -> Response
    ) async throws -> Provoked {
        let primed = Monitor(0)
        let probe = Probe { [outcome, calls] request, number in
            let outcome = outcome(number, request.head)
            guard primed.state == calls - 1 else { return Response(head: try outcome.get(), body: "primed") }
            return try await answer(request, number, outcome)
        }
        let connection = try subject.connection(over: probe)
        while primed.state < calls - 1 {
            _ = try? await connection.send(request).body.collectAll()
            primed.update { $0 += 1 }
        }
        let primingCount = probe.requests.count
        let result: Result<Response, any Error>
        do {
            result = .success(try await connection.send(request))
        } catch {
            result = .failure(error)
        }
        return Provoked(
            requests: Array(probe.requests.dropFirst(primingCount)), result: result,
            own: try subject.ownLayers(over: probe))
    }
}

/// What came of a provocation.
struct Provoked: Sendable {
    /// What the last call has sent.
    let requests: [Request]
    let result: Result<Response, any Error>
    /// The layers that the decorator is made of.
    let own: [Layer]
}
