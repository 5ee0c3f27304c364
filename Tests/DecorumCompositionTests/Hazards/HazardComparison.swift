import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Expects that the check finds a mistake in one stack, and none in the mended stack.
func expectFinding(
    of hazard: Hazard, in wrong: some Connection, naming names: [String], notIn mended: some Connection,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let found = wrong.findings.filter { $0.hazard == hazard }
    #expect(
        found.contains { $0.places.map(\.layer.name) == names }, "\(wrong.composition)", sourceLocation: sourceLocation)
    #expect(
        found.allSatisfy { !$0.consequence.isEmpty && !$0.change.isEmpty }, "\(found)", sourceLocation: sourceLocation)
    #expect(
        !mended.findings.contains { $0.hazard == hazard }, "\(mended.composition)", sourceLocation: sourceLocation)
}

extension Request {
    static var page: Request {
        get throws { try .get("https://a.example/") }
    }

    /// The page on behalf of a user.
    static func page(of user: String) throws -> Request {
        var request = try page
        request.options.principal = Principal(user)
        return request
    }
}

extension Response {
    static let page = Response(status: .ok, fields: [.cacheControl: "max-age=3600"], body: "page")
    static let busy = Response(status: .serviceUnavailable)

    static func redirection(to path: String) -> Response {
        Response(status: .found, fields: [.location: path])
    }

    func text() async throws -> String { try await body.text(upTo: 1000) }
}

extension StubConnection {
    /// The values of a field in all requests so far.
    func values(of name: HTTPField.Name) -> [String?] {
        requests.map { $0.head.headerFields[name] }
    }
}

/// A source that gives another token each time.
actor CountingSource: CredentialSource {
    let servesOneUser: Bool
    private var count = 0

    init(servesOneUser: Bool = true) {
        self.servesOneUser = servesOneUser
    }

    func credentials(for attempt: AuthenticationAttempt) throws -> Credentials? {
        count += 1
        return try .bearer("token\(count)")
    }
}

/// A signer whose signature shows the path, the names of the fields, and a nonce.
struct VisibleSigner: RequestSigner {
    let clock: any DatedClock
    let secretFields: Set<HTTPField.Name> = [.authorization]

    init(clock: any DatedClock = SystemClock()) {
        self.clock = clock
    }

    func sign(_ request: Request) -> Request {
        var request = request
        let names = request.head.headerFields.map(\.name.canonicalName).sorted().joined(separator: " ")
        let seconds = Int(clock.date.timeIntervalSince1970)
        request.head.headerFields[.authorization] =
            "path=\(request.head.path ?? "") names=\(names) date=\(seconds) nonce=\(UInt64.random(in: 0 ... .max))"
        return request
    }
}

/// The origin that the tests send to.
let site = Origin.site

extension Origin {
    fileprivate static let site: Origin = {
        guard let origin = try? Origin("https://a.example") else { preconditionFailure("The origin is valid.") }
        return origin
    }()
}
