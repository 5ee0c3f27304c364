import Decorum
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes

/// A layer that sends again after a 429, and after a connection that was lost.
struct AgainConnection: ComposedConnection {
    /// The typical mistakes of layers that send again.
    enum Mistake: Sendable {
        case sendsPosts, sendsPostsAfterLoss, sendsOnceBodies, swallowsTheSleep, ignoresCancellation, takesCancellation
        case holdsTheResponse, readsAllOfIt, isSilent, forgetsOptions, wrapsErrors, throwsStatus, outlivesTheCaller
        case logsFields, namesFieldsInErrors, waitsInSilence
    }

    let base: AnyConnection
    let conditions: DecoratorConditions
    var mistake: Mistake?

    var layer: Layer {
        var facts: Set<Layer.Fact> = [.readsClock, .records]
        if mistake != .isSilent { facts.insert(.resends) }
        if mistake != .waitsInSilence { facts.insert(.waits) }
        return Layer(name: "again", role: .resilience, facts: facts)
    }

    func send(_ request: consuming Request) async throws -> Response {
        let request = request
        if mistake == .logsFields { conditions.log.write("sending \(request.head.headerFields)") }
        var held: [Response] = []
        defer { withExtendedLifetime(held) {} }
        for attempt in 0... {
            do {
                let response = try await sendOnce(request, attempt: attempt)
                guard response.status == .tooManyRequests || (mistake == .sendsPosts && response.status.code >= 500),
                    attempt < 2, maySendAgain(request, after: response.status)
                else { return try returned(response, to: request) }
                if mistake == .holdsTheResponse {
                    held.append(response)
                } else if mistake == .readsAllOfIt {
                    try await response.body.drain(upTo: .max)
                } else {
                    try await response.body.discard(on: conditions.clock)
                }
            } catch let error as TransportError where attempt < 2 && isLost(error, request) {
                conditions.log.write("lost: \(error)")
            } catch {
                if mistake == .takesCancellation, attempt < 2 { continue }
                guard mistake == .wrapsErrors, !(error is CancellationError) else { throw error }
                throw TransportError(.other, at: .head, underlying: error)
            }
            try await wait()
        }
        throw CancellationError()
    }

    private func sendOnce(_ request: Request, attempt: Int) async throws -> Response {
        let base = base
        if mistake == .outlivesTheCaller { return try await Task { try await base.send(request) }.value }
        let isForgetful = mistake == .forgetsOptions && attempt > 0
        return try await base.send(isForgetful ? Request(head: request.head, body: request.body) : request)
    }

    private func returned(_ response: Response, to request: Request) throws -> Response {
        if mistake == .throwsStatus, response.status.code >= 400 { throw TransportError(.other, at: .head) }
        if mistake == .namesFieldsInErrors, response.status.code >= 400 {
            throw RefusedError(fields: request.head.headerFields)
        }
        return response
    }

    private func wait() async throws {
        switch mistake {
        case .swallowsTheSleep: try? await conditions.clock.sleep(for: .seconds(1))
        case .ignoresCancellation: break
        default:
            try await conditions.clock.sleep(for: .seconds(1))
        }
    }

    private func isLost(_ error: TransportError, _ request: Request) -> Bool {
        guard error.stage > .connecting else { return request.body.replay > .once || request.body.isEmpty }
        return error.code == .connectionLost && (isIdempotent(request) || mistake == .sendsPostsAfterLoss)
            && (request.body.replay > .once || request.body.isEmpty)
    }

    private func maySendAgain(_ request: Request, after status: HTTPResponse.Status) -> Bool {
        guard request.body.replay > .once || request.body.isEmpty || mistake == .sendsOnceBodies else { return false }
        return status == .tooManyRequests || isIdempotent(request) || mistake == .sendsPosts
    }

    private func isIdempotent(_ request: Request) -> Bool {
        [.get, .head, .put, .delete, .options].contains(request.head.method)
    }
}

private struct RefusedError: Error {
    let fields: HTTPFields
}

/// A layer that adds a token, and asks for another at a 401.
struct RefreshingConnection: ComposedConnection {
    /// The typical mistakes of layers that add and refresh credentials.
    enum Mistake: Sendable {
        case tellsNoOption, replacesTheOption, namesNoSecret, isSilent, logsTheToken, sendsOnceBodies
        case sendsAgainAfterLoss, holdsTheResponse, dropsTheResponseMetadata, swallowsCancellation, forgetsOptions
        case opensContentFirst
    }

    static let tokenPath = "/token"

    let base: AnyConnection
    let conditions: DecoratorConditions
    var mistake: Mistake?
    private let tokens = Kept<String>()
    private let held = Kept<Body>()

    init(base: AnyConnection, conditions: DecoratorConditions, mistake: Mistake? = nil) {
        self.base = base
        self.conditions = conditions
        self.mistake = mistake
    }

    var layer: Layer {
        Layer(
            name: "refreshing", role: .authentication,
            facts: mistake == .isSilent ? [.resends] : [.resends, .addsCredentials],
            secretFields: mistake == .namesNoSecret ? [] : [.authorization])
    }

    func send(_ request: consuming Request) async throws -> Response {
        let original = request
        guard !original.head.headerFields.contains(.authorization) else {
            if mistake == .logsTheToken { conditions.log.write("sent \(original.head.headerFields)") }
            return try await base.send(original)
        }
        if mistake == .opensContentFirst { _ = try await original.body.data(upTo: 1 << 20) }
        if let response = try await sendUnlessExpired(original) { return response }
        try Task.checkCancellation()
        let token = try await freshToken()
        if mistake != .swallowsCancellation { try Task.checkCancellation() }
        tokens.keep(token)
        var again = authorized(original, by: token)
        if mistake == .forgetsOptions { again = Request(head: again.head, body: again.body) }
        let response: Response
        do {
            response = try await base.send(again)
        } catch  where mistake == .sendsAgainAfterLoss && !(error is CancellationError) {
            return try await base.send(again)
        }
        return mistake == .dropsTheResponseMetadata ? Response(head: response.head, body: response.body) : response
    }

    /// The response; nil if it is a 401 that a new token may change, which is released.
    private func sendUnlessExpired(_ request: Request) async throws -> Response? {
        let response = try await base.send(authorized(request, by: tokens.all.last ?? "first"))
        guard response.status == .unauthorized,
            request.body.replay > .once || request.body.isEmpty || mistake == .sendsOnceBodies
        else { return response }
        if mistake == .holdsTheResponse { held.keep(response.body) }
        return nil
    }

    private func freshToken() async throws -> String {
        var request = try Request.post(DecoratorLaw.origin + Self.tokenPath, body: "refresh")
        request.options.secretFields = [.authorization]
        do {
            let response = try await base.send(request)
            guard response.status == .ok else { return "" }
            return try await response.body.text(upTo: 1 << 16).filter(\.isLetter)
        } catch  where mistake == .swallowsCancellation {
            return "none"
        }
    }

    private func authorized(_ request: Request, by token: String) -> Request {
        var request = request
        if mistake == .replacesTheOption {
            request.options.secretFields = [.authorization]
        } else if mistake != .tellsNoOption {
            request.options.secretFields.insert(.authorization)
        }
        request.head.headerFields[.authorization] = "Bearer \(token)"
        return request
    }
}

/// A layer that follows redirections of requests which only read.
struct LeadingConnection: ComposedConnection {
    /// The typical mistakes of layers that choose the target.
    enum Mistake: Sendable {
        case takesSecretsAlong, takesDeclaredSecretsAlong, isSilent, holdsTheRedirection
    }

    let base: AnyConnection
    var mistake: Mistake?
    private let held = Kept<Body>()

    init(base: AnyConnection, mistake: Mistake? = nil) {
        self.base = base
        self.mistake = mistake
    }

    var layer: Layer {
        Layer(
            name: "leading", role: .redirection,
            facts: mistake == .isSilent ? [.resends] : [.resends, .changesSignedParts])
    }

    func send(_ request: consuming Request) async throws -> Response {
        var request = request
        for _ in 0..<5 {
            let response = try await base.send(request)
            guard [.get, .head].contains(request.head.method), response.status.kind == .redirection,
                let location = response.head.headerFields[.location]
            else { return response }
            try Task.checkCancellation()
            if mistake == .holdsTheRedirection { held.keep(response.body) }
            lead(&request, to: location)
        }
        return try await base.send(request)
    }

    private func lead(_ request: inout Request, to location: String) {
        guard let url = URL(string: location), let host = url.host() else {
            request.head.path = location
            return
        }
        request.head.scheme = url.scheme
        request.head.authority = host
        request.head.path = url.path()
        guard mistake != .takesSecretsAlong else { return }
        request.head.headerFields = request.head.headerFields.filter { field in
            let isDeclared = request.options.secretFields.contains(field.name) && mistake != .takesDeclaredSecretsAlong
            return !isDeclared && ![.authorization, .cookie].contains(field.name)
        }
    }
}

/// A layer that sends everything to another host.
struct MirroredConnection: ComposedConnection {
    let base: AnyConnection
    var isSilent = false

    var layer: Layer { Layer(name: "mirrored", facts: isSilent ? [] : [.changesSignedParts, .setsOrigin]) }

    func send(_ request: consuming Request) async throws -> Response {
        request.head.authority = "mirror.example"
        return try await base.send(request)
    }
}
