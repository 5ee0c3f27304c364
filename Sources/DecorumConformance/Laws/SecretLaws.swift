import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that a layer which adds secrets names their fields in the options of the request that it sends on.
    ///
    /// An inner redirection, log or cache learns of a secret by `RequestOptions.secretFields`. A layer that has the fact
    /// `.addsCredentials` and sets fields names the fields that hold the credentials.
    public static let declaredSecrets = DecoratorLaw("declaredSecrets") { subject in
        try await subject.each([.ordinary] + subject.provocations) { path in
            let original = try path.request()
            let provoked = try await path.provoke(subject, with: original)
            let addsCredentials = provoked.own.facts.contains(.addsCredentials)
            for request in provoked.sent {
                let carried = provoked.own.secretFields.filter { request.head.headerFields.contains($0) }
                try expect(carried.subtracting(request.options.secretFields), is: [], "fields missing in the options")
                let changes = request.head.changes(from: original.head)
                let isDeclared = !addsCredentials || changes.hasTarget || changes.fields.isEmpty || !carried.isEmpty
                try expect(isDeclared, "a secret field among \(changes.fields)")
            }
        }
    }

    /// Demands that the secrets of a request are in nothing that a layer writes, throws or shows.
    ///
    /// The secrets are the fields that carry credentials by definition or by the options of the request. The law looks at the
    /// log of ``DecoratorConditions``, the descriptions of errors and of the decorator, the layers and the metadata.
    public static let writtenSecrets = DecoratorLaw("writtenSecrets") { subject in
        try await subject.each([.ordinary] + subject.provocations) { path in
            let log = Monitor<[String]>([])
            let conditions = DecoratorConditions(log: LogSink { entry in log.update { $0.append(entry) } })
            let provoked = try await path.provoke(subject, with: .secret(on: path), on: conditions)
            if case .success(let response) = provoked.result {
                // The law allows an error while reading, but examines its description.
                do { _ = try await response.body.collectAll() } catch { try expectSilence(of: error, "an error") }
                try expectSilence(of: response.metadata, "the metadata")
            }
            if let error = provoked.error { try expectSilence(of: error, "an error") }
            for layer in provoked.own { try expectSilence(of: layer, "a layer") }
            try expectNoSecret(in: "\(provoked.connection)", "the description")
            for entry in log.state { try expectNoSecret(in: entry, "the log") }
        }
    }

    private static func expectSilence(of value: some Any, _ place: String) throws(ConformanceFailure) {
        var dumped = ""
        dump(value, to: &dumped)
        for text in [String(describing: value), String(reflecting: value), dumped] {
            try expectNoSecret(in: text, place)
        }
    }

    private static func expectNoSecret(in text: String, _ place: String) throws(ConformanceFailure) {
        for secret in Request.secrets { try expect(!text.contains(secret.value), "no \(secret.name) in \(place)") }
    }

    /// Demands that a request which is redirected to another origin loses its secrets.
    ///
    /// Any server that answers can name the origin of a redirection (RFC 9110, section 15.4).
    public static let redirectedSecrets = DecoratorLaw("redirectedSecrets") { subject in
        let host = "foreign.example"
        let paths = [301, 302, 303, 307, 308].map { code in
            ActivePath(ofLaws: "a foreign \(code)") { number, _ in
                number == 1 ? .redirection(code, to: "https://\(host)/") : .ok
            }
        }
        try await subject.each(paths) { path in
            let provoked = try await path.provoke(subject, with: .secret(on: path))
            for sent in provoked.sent where sent.head.authority == host {
                for secret in Request.secrets {
                    let values = sent.head.headerFields[values: secret.name]
                    try expect(!values.contains(secret.value), "no \(secret.name)")
                }
            }
        }
    }
}

extension Request {
    /// The secrets of a caller or of an outer layer; a layer knows two of them by the options alone.
    fileprivate static let secrets = HTTPFields(
        [
            "Authorization": "Bearer secret-of-authorization", "Cookie": "session=secret-of-cookie",
            "X-Api-Key": "secret-of-x-api-key", "X-Vendor-Field": "secret-of-x-vendor-field",
        ] as RawFields)

    /// The request of a path with all secrets, which its options name.
    fileprivate static func secret(on path: ActivePath) throws -> Request {
        var request = try path.request(fields: secrets)
        request.options.secretFields.formUnion(secrets.map(\.name))
        return request
    }
}

extension DecoratorLaw {
    /// Demands that a layer which stores or shares responses gives a response only to the caller that it was made for.
    ///
    /// Callers differ in the principal, or in their credentials alone: in fields that carry credentials by definition, that
    /// the options name as secret, or that an inner layer adds, so that only `SentRequests` reports them. They send one after
    /// the other and at the same time. `ResponseKey` accounts for all of these differences.
    public static let principals = DecoratorLaw("principals") { subject in
        try await subject.each(keepingPaths + subject.activePaths) { path in
            for distinction in Distinction.all {
                for countsEach in [true, false] {
                    try await checkTurns(distinction, in: subject, on: path, countingEach: countsEach)
                }
                try await checkCrowd(distinction, in: subject, on: path)
            }
        }
    }

    /// One caller after the other.
    private static func checkTurns(
        _ distinction: Distinction, in subject: DecoratorSubject, on path: ActivePath, countingEach countsEach: Bool
    ) async throws {
        let counts = Monitor<[String: Int]>([:])
        let connection = try subject.connection(
            over: Probe { request, _ in
                distinction.report(request)
                let user = distinction.user(of: request)
                let number = counts.update { counts in
                    counts[countsEach ? user ?? "" : "", default: 0] += 1
                    return counts[countsEach ? user ?? "" : ""] ?? 1
                }
                return try path.answer(request.head, number).made(for: user, as: request.head.method)
            })
        for user in ["alice", "bob", nil] {
            for _ in 0..<path.calls {
                let request = try distinction.request(of: user, on: path)
                try await expectOwn(connection, request, of: user, distinction)
            }
        }
    }

    /// Two callers at the same time, whose requests the server answers when it has both, or the second is not sent.
    private static func checkCrowd(
        _ distinction: Distinction, in subject: DecoratorSubject, on path: ActivePath
    ) async throws {
        let gate = Gate()
        let connection = try subject.connection(
            over: Probe { request, number in
                distinction.report(request)
                try await gate.wait()
                return try path.answer(request.head, number)
                    .made(for: distinction.user(of: request), as: request.head.method)
            })
        let calls = ["alice", "bob"].map { user in
            CallInProgress {
                let request = try distinction.request(of: user, on: path)
                try await expectOwn(connection, request, of: user, distinction)
            }
        }
        for call in calls { _ = try await call.waits(at: gate) }
        for _ in 0..<100 where gate.waitingCount < 2 { await Task.yield() }
        gate.open()
        for call in calls { try await call.value() }
    }

    private static func expectOwn(
        _ connection: any Connection, _ request: Request, of user: String?, _ distinction: Distinction
    ) async throws {
        let response: Response
        let text: String
        do {
            response = try await connection.send(request)
            text = try await response.body.text(upTo: 1 << 20)
        } catch  where !(error is ConformanceFailure) {
            // A failure holds no response, so no caller gets another one's response.
            return
        }
        let markers =
            response.head.headerFields[values: .answeredFor] + [text]
            + [response.metadata[AnsweredForKey.self]].compactMap { $0 }
        for other in ["alice", "bob"] where other != user {
            try expect(!markers.contains("for \(other)"), "an own response by \(distinction)")
        }
    }

    /// Answers that a layer may want to keep.
    private static let keepingPaths = [
        ActivePath(ofLaws: "a fresh response") { _, _ in
            HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=3600", .eTag: #""1""#])
        },
        ActivePath(ofLaws: "a private response") { _, _ in
            HTTPResponse(status: .ok, headerFields: [.cacheControl: "private, max-age=3600"])
        },
        ActivePath(ofLaws: "a shared validator") { _, request in
            let isConditional = request.headerFields.contains(.ifNoneMatch)
            // A strong tag would say that the content is the same for all of them.
            return HTTPResponse(status: isConditional ? .notModified : .ok, headerFields: [.eTag: #"W/"1""#])
        },
        ActivePath(ofLaws: "a lost server", calls: 2) { number, _ in
            guard number == 1 else { throw TransportError(.unreachable, at: .connecting) }
            return HTTPResponse(status: .ok, headerFields: [.eTag: #""1""#])
        },
        ActivePath(ofLaws: "an overloaded server", calls: 2) { number, _ in
            number == 1 ? .ok : HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "0"])
        },
    ]
}

/// The difference between requests on behalf of different users.
private enum Distinction: Sendable {
    case principal
    /// A field that a layer between the decorator and the transport adds.
    case innerField
    case field(HTTPField.Name, isDeclared: Bool)

    static let all =
        [principal, innerField, field(.authorization, isDeclared: false), field(.cookie, isDeclared: false)]
        + ["X-Api-Key", "X-Vendor-Field"].compactMap { name in
            HTTPField.Name(name).map { field($0, isDeclared: name == "X-Vendor-Field") }
        }

    func request(of user: String?, on path: ActivePath) throws -> Request {
        var request = try path.request()
        switch self {
        case .principal: request.options.principal = user.map { Principal($0) }
        case .innerField: request.options[CallerKey.self] = user
        case .field(let name, let isDeclared):
            if isDeclared { request.options.secretFields.insert(name) }
            request.head.headerFields[name] = user.map { "user=\($0)" }
        }
        return request
    }

    /// Reports the sent request with the field of the inner layer.
    func report(_ request: Request) {
        guard case .innerField = self, let user = user(of: request) else { return }
        var sent = request
        sent.head.headerFields[.authorization] = "user=\(user)"
        sent.reportSending()
    }

    func user(of request: Request) -> String? {
        ["alice", "bob"].first { user in
            switch self {
            case .principal: request.options.principal == Principal(user)
            case .innerField: request.options[CallerKey.self] == user
            case .field(let name, _): request.head.headerFields[name] == "user=\(user)"
            }
        }
    }
}

extension Response {
    /// The response with the name of its user in a field, in the metadata and, where it has no content, as content.
    fileprivate func made(for user: String?, as method: HTTPRequest.Method) -> Response {
        var response = self
        let mark = "for \(user ?? "everybody")"
        response.head.headerFields[.answeredFor] = mark
        response.metadata[AnsweredForKey.self] = mark
        if lacksContent(for: method) { response.body = Body(mark) }
        return response
    }
}

/// The caller, which an inner layer knows and the decorator does not.
private enum CallerKey: RequestOptionKey {
    static let defaultValue: String? = nil
}

private enum AnsweredForKey: ResponseMetadataKey {
    static let defaultValue: String? = nil
}

extension HTTPField.Name {
    // The name is one: a literal without blanks.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let answeredFor = HTTPField.Name("X-Answered-For")!
}
