import Decorum
import HTTPTypes

extension DecoratorLaw {
    /// Demands that a layer which stores or shares responses gives a response only to the caller that it was made for.
    ///
    /// Callers differ in the principal of the options, or in their credentials alone: in fields that carry credentials by
    /// definition, in fields that the options name as secret, and in a field that an inner layer adds without declaring
    /// it, so that only `SentRequests` reports it. They send one after the other and at the same time, to a server that
    /// gives all of them the same weak validator, and to one that can be reached only at first. `ResponseKey` accounts for all
    /// of these differences.
    public static let principals = DecoratorLaw(
        "principals", "No caller gets a response that was made for another principal."
    ) { subject in
        for distinction in Distinction.all {
            for path in keepingPaths + subject.activePaths {
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
                try await requireOwn(connection, request, of: user, distinction, path)
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
                try await requireOwn(connection, request, of: user, distinction, path)
            }
        }
        for call in calls { _ = try await call.waits(at: gate) }
        for _ in 0..<100 where gate.waitingCount < 2 { await Task.yield() }
        gate.open()
        for call in calls { try await call.value() }
    }

    private static func requireOwn(
        _ connection: any Connection, _ request: Request, of user: String?, _ distinction: Distinction,
        _ path: ActivePath
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
            try require(
                !markers.contains("for \(other)"),
                "With \(path) and callers told apart by \(distinction), one got the response to another.")
        }
    }

    /// Answers that a layer may want to keep.
    private static let keepingPaths = [
        ActivePath(ofLaws: "a response that stays fresh") { _, _ in
            HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=3600", .eTag: #""1""#])
        },
        ActivePath(ofLaws: "a private response that stays fresh") { _, _ in
            HTTPResponse(status: .ok, headerFields: [.cacheControl: "private, max-age=3600"])
        },
        ActivePath(ofLaws: "a response that is confirmed for everybody") { _, request in
            let isConditional = request.headerFields.contains(.ifNoneMatch)
            // A strong tag would say that the content is the same for all of them.
            return HTTPResponse(status: isConditional ? .notModified : .ok, headerFields: [.eTag: #"W/"1""#])
        },
        ActivePath(ofLaws: "a server that is lost", calls: 2) { number, _ in
            guard number == 1 else { throw TransportError(.unreachable, at: .connecting) }
            return HTTPResponse(status: .ok, headerFields: [.eTag: #""1""#])
        },
        ActivePath(ofLaws: "a server that is overloaded", calls: 2) { number, _ in
            number == 1 ? .ok : HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "0"])
        },
    ]
}

/// The difference between requests on behalf of different users.
private struct Distinction: Sendable, CustomStringConvertible {
    let description: String
    private let field: HTTPField.Name?
    private let isDeclared: Bool
    private var isAddedFurtherIn = false

    static let all =
        [
            Distinction(description: "their principals", field: nil, isDeclared: false),
            Distinction(
                description: "a field that a layer further in adds", field: .authorization, isDeclared: false,
                isAddedFurtherIn: true),
        ]
        + ["Authorization", "Cookie", "X-Api-Key"].map { Distinction(name: $0, isDeclared: false) }
        + [Distinction(name: "X-Vendor-Field", isDeclared: true)]

    private init(
        description: String, field: HTTPField.Name?, isDeclared: Bool, isAddedFurtherIn: Bool = false
    ) {
        self.description = description
        self.field = field
        self.isDeclared = isDeclared
        self.isAddedFurtherIn = isAddedFurtherIn
    }

    private init(name: String, isDeclared: Bool) {
        self.init(description: "the field \(name)", field: HTTPField.Name(name), isDeclared: isDeclared)
    }

    func request(of user: String?, on path: ActivePath) throws -> Request {
        var request = try path.request()
        guard let field else {
            request.options.principal = user.map { Principal($0) }
            return request
        }
        if isAddedFurtherIn {
            request.options[CallerKey.self] = user
            return request
        }
        if isDeclared { request.options.secretFields.insert(field) }
        request.head.headerFields[field] = user.map { "user=\($0)" }
        return request
    }

    /// Reports the sent request where a layer between the decorator and the transport has added the field.
    func report(_ request: Request) {
        guard isAddedFurtherIn, let field, let user = user(of: request) else { return }
        var sent = request
        sent.head.headerFields[field] = "user=\(user)"
        sent.reportSending()
    }

    func user(of request: Request) -> String? {
        ["alice", "bob"].first { user in
            guard let field else { return request.options.principal == Principal(user) }
            if isAddedFurtherIn { return request.options[CallerKey.self] == user }
            return request.head.headerFields[field] == "user=\(user)"
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
