import Decorum

struct AuthenticationListings {
    func authenticating(token: String) throws {
        let api = try Origin("https://api.example.com")
        let connection = try SystemConnection()
            .authenticating(with: .bearer(token), for: api)
            .retrying()
            .followingRedirects()
        _ = connection
    }

    func asking(token: String) throws {
        let session = Session(token: token)
        let connection = try SystemConnection()
            .authenticating(from: session, for: Origin("https://api.example.com"))
            .retrying()
            .limitingTime()
        _ = connection
    }

    // swift-format-ignore: NeverForceUnwrap
    fileprivate func credentials(session: SignIn, configuration: Configuration) throws {
        let token = try Credentials.bearer(session.token)
        let key = try Credentials.field(.init("X-API-Key")!, configuration.key)
        _ = (token, key)
    }
}

extension Connection {
    fileprivate func adding(_ session: Session, for origins: Set<Origin>) -> some Connection {
        authenticating(from: session, for: origins)
    }
}

extension StandardStack.Authentication {
    static func session(_ session: Session) -> Self {
        .applying { base, origins, _ in base.adding(session, for: origins) }
    }
}

struct SharedKeySigner: RequestSigner {
    let key: SharedKey
    let secretFields: Set<HTTPField.Name> = [.authorization]

    func sign(_ request: Request) async throws -> Request {
        var request = request
        request.head.headerFields[.authorization] = try await key.signature(of: request.head)
        return request
    }
}

actor Session: CredentialSource {
    private(set) var token: String

    init(token: String) { self.token = token }

    func credentials(for attempt: AuthenticationAttempt) throws -> Credentials? {
        try .bearer(token)
    }
}

actor SharedKey {
    func signature(of head: HTTPRequest) throws -> String { "MAC \(head.method)" }
}

private struct SignIn {
    let token: String
}

private struct Configuration {
    let key: String
}
