import Decorum
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes

/// A layer that adds a token, and asks for another at a 401.
struct RefreshingConnection: ComposedConnection {
    /// The typical mistakes of layers that add and refresh credentials.
    enum Mistake: CaseIterable, Sendable {
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
