import Decorum
import HTTPTypes

extension ActivePath {
    /// An answer with nothing to act on.
    static let ordinary = ActivePath(ofLaws: "an ordinary answer") { _, _ in .ok }
    /// An answer that a layer may want to keep.
    static let storable = ActivePath(ofLaws: "an answer with an ETag") { _, _ in
        HTTPResponse(status: .ok, headerFields: [.eTag: #""1""#])
    }

    /// The paths on which every decorator is examined, since many decorators act on these answers.
    static let provocations = statuses + redirections + failures.map(\.path) + [changedValidator, fresh, lostServer]

    /// Asks for another attempt, with every kind of challenge.
    private static let statuses = [401, 407, 408, 412, 421, 425, 429, 500, 502, 503, 504].map { code in
        ActivePath(ofLaws: "a \(code)") { number, _ in number == 1 ? .challenge(code) : .ok }
    }

    private static let redirections = [301, 302, 303, 307, 308].map { code in
        ActivePath(ofLaws: "a \(code)") { number, _ in
            guard number == 1 else { return .ok }
            return HTTPResponse(status: .init(code: code), headerFields: [.location: "/elsewhere"])
        }
    }

    private static let failures = [
        TransportError(.connectionRefused, at: .connecting), TransportError(.connectionLost, at: .head),
    ]

    /// Confirms another response than the one that the request asked about.
    private static let changedValidator = ActivePath(ofLaws: "a 304 for another ETag", calls: 2) { number, request in
        let isConditional = request.headerFields.contains(.ifNoneMatch)
        return HTTPResponse(
            status: isConditional ? .notModified : .ok, headerFields: [.eTag: number == 1 ? #""1""# : #""2""#])
    }

    private static let fresh = ActivePath(ofLaws: "a response that stays fresh", calls: 2) { _, _ in
        HTTPResponse(status: .ok, headerFields: [.cacheControl: "public, max-age=3600", .eTag: #""1""#])
    }

    /// Cannot be reached after it has answered once.
    private static let lostServer = ActivePath(ofLaws: "an answer and then none", calls: 2) { number, _ in
        guard number == 1 else { throw TransportError(.unreachable, at: .connecting) }
        return .ok
    }
}

extension TransportError {
    /// The failure, and then an ordinary answer.
    var path: ActivePath {
        ActivePath(ofLaws: "the failure \(code)") { number, _ in
            guard number > 1 else { throw self }
            return .ok
        }
    }
}

extension HTTPResponse {
    static let ok = HTTPResponse(status: .ok)

    /// A status with all fields that ask for another attempt.
    static func challenge(_ code: Int) -> HTTPResponse {
        HTTPResponse(
            status: .init(code: code),
            headerFields: [
                .retryAfter: "0", .wwwAuthenticate: #"Basic realm="x", Bearer"#,
                .proxyAuthenticate: #"Basic realm="x""#,
            ])
    }
}
