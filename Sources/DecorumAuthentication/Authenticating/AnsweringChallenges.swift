public import Decorum
import Foundation
public import HTTPTypes

/// Answers challenges of servers, such as by asking the user for a password.
///
/// ```swift
/// struct PasswordHandler: ChallengeHandler {
///     let ask: @Sendable (_ realm: String) async -> (name: String, password: String)?
///
///     func answer(_ request: ChallengedRequest) async throws -> Credentials? {
///         guard let basic = request.challenges.first(where: { $0.scheme == "basic" }) else { return nil }
///         guard let (name, password) = await ask(basic.realm ?? "") else { return nil }
///         return try .basic(user: name, password: password)
///     }
/// }
/// ```
public protocol ChallengeHandler: Sendable {
    /// Answers the challenges of one response.
    ///
    /// - Parameter request: The request that was refused, and its challenges.
    /// - Returns: Credentials to send the request with once more; nil to ask the next handler. After the last one, the `401`
    ///   is returned.
    /// - Throws: An error that ends the request, which the caller of the connection gets.
    nonisolated(nonsending) func answer(_ request: ChallengedRequest) async throws -> Credentials?
}

/// A request that a server has answered with `401 Unauthorized`.
public struct ChallengedRequest: Sendable {
    /// The head of the request.
    public let head: HTTPRequest
    /// The server.
    public let origin: Origin
    /// The challenges of the response, in order.
    public let challenges: [Challenge]
}

extension ChallengedRequest: SecretHolder {
    /// The method and the server.
    public var description: String { "\(head.method) to \(origin)" }
}

extension Connection {
    /// Answers the challenges of the given origins with credentials of handlers.
    ///
    /// On a `401` with challenges, the handlers are asked in order until one gives credentials or throws. The request is then
    /// sent once more, with the rules of `authenticating(with:for:_:)`; a second `401` is returned. The body of
    /// a `401` that is returned can be read.
    ///
    /// No handler is asked for another origin, for a request that another origin has redirected, for one with
    /// `RequestOptions.skipsAuthentication` or an `Authorization` field of its own, and for one whose body can be read once.
    ///
    /// Place it like `authenticating(with:for:_:)`.
    ///
    /// - Parameters:
    ///   - handlers: The handlers, in the order in which they are asked.
    ///   - origins: The origins whose challenges are answered.
    /// - Returns: A connection that throws the errors of the handlers too.
    public func answeringChallenges(
        with handlers: [any ChallengeHandler], for origins: Set<Origin>
    ) -> some Connection {
        ChallengedConnection(
            base: self, handlers: handlers, binding: CredentialBinding(origins: origins),
            baseMayChangeUser: mayChangeUser)
    }
}

struct ChallengedConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let handlers: [any ChallengeHandler]
    let binding: CredentialBinding
    let baseMayChangeUser: Bool

    var layer: Layer {
        Layer(
            name: "answeringChallenges", role: .authentication,
            settings: [Layer.Setting("with", "\(handlers.count) handlers"), binding.setting],
            facts: binding.facts.union([.changesSignedParts, .variesPerSend, .readsStatus, .changesUsers]),
            secretFields: [.authorization], sending: .init(1...2), time: .init(waiting: .unbounded))
    }

    func send(_ request: consuming Request) async throws -> Response {
        request.options.secretFields.insert(.authorization)
        let reason = binding.reasonToSkip(request, secretFields: [.authorization])
        if reason == .unencrypted { return try await base.sendUnchanged(request, because: .unencrypted) }
        guard reason == nil, request.body.replay > .once || request.body.isEmpty else {
            return try await base.send(request)
        }
        request.options.beginCall(ifNeeded: baseMayChangeUser)
        let first = try await base.send(copy request)
        guard first.status == .unauthorized else { return first }
        let challenges = first.challenges
        guard !challenges.isEmpty else { return first }
        let challenged = ChallengedRequest(
            head: request.head, origin: try Origin(request.head), challenges: challenges)
        for handler in handlers {
            guard let credentials = try await handler.answer(challenged) else { continue }
            request.options = request.options.travelling(.attempts)
            var response = try await base.authenticating(with: credentials, for: binding.origins).send(request)
            response.metadata.attempts += first.metadata.attempts
            return response
        }
        return first
    }
}
