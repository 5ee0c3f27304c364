import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that a layer which has nothing to do changes nothing.
    ///
    /// An ordinary request passes once, and its ordinary response comes back, both as they were: method, target, fields,
    /// the length, the replay rule and the content of bodies, and the metadata that transports set. The check takes the
    /// fields and the parts that the decorator changes by design as arguments. On an ``ActivePath`` the requests also
    /// stay as they were, except for the changes that are declared for the decorator and for the path.
    public static let idleness = DecoratorLaw(
        "idleness", "An ordinary exchange passes a layer once, with no undeclared change."
    ) { subject in
        for path in subject.activePaths {
            let request = try path.request(fields: [.contentLanguage: "en"])
            let provoked = try await path.provoke(subject, with: request) { try $2.get() }
            for sent in provoked.requests { try requireSame(sent, as: request, on: path, by: subject) }
        }
        for content in [BodyProbe().body(chunks: 2), BodyProbe().body(chunks: 2, knowingLength: true), "text", .empty] {
            let method: HTTPRequest.Method = content.isEmpty ? .get : .post
            let fields: HTTPFields = [.accept: "text/plain", .contentLanguage: "en"]
            let request = try Request.lawful(method, fields: fields, body: content)
            let answer = Response(
                head: HTTPResponse(
                    status: .init(code: 200, reasonPhrase: "Fine"), headerFields: [.contentType: "text/plain"]),
                body: BodyProbe().body(chunks: 3, knowingLength: content.length != nil))

            let received = Monitor<Data?>(nil)
            let probe = Probe { request, _ in
                let data = try await request.body.collectAll().data
                received.update { $0 = data }
                return answer
            }
            let response = try await subject.connection(over: probe).send(request)
            try requireEqual(probe.requests.count, 1, "The number of times that an ordinary request was sent")
            guard let sent = probe.requests.first else { return }
            try requireSame(sent, as: request, on: .ordinary, by: subject)
            if !subject.mayChange(.requestContent, on: .ordinary) {
                try requireSame(received.state ?? Data(), as: content, "the request's")
            }
            let mayChangeContent = subject.mayChange(.responseContent, on: .ordinary)
            try requireSame(response, as: answer, exceptContent: mayChangeContent)
            let data = try await response.body.collectAll().data
            if !mayChangeContent { try requireSame(data, as: answer.body, "the response's") }
            // Gives a task that continues after the call the time to send: real time, since yields alone may be over
            // before another thread has run.
            try await Task.sleep(for: .milliseconds(2))
            try requireEqual(probe.requests.count, 1, "The number of times that it was sent in the end")
        }
    }

    private static func requireSame(
        _ sent: Request, as request: Request, on path: ActivePath, by subject: DecoratorSubject
    ) throws(ConformanceFailure) {
        let advice = " A change that is made by design goes into check(changing:)."
        if !subject.mayChange(.method, on: path) {
            try requireEqual(
                sent.head.method, request.head.method, "With \(path), the method that was sent", advice: advice)
        }
        if !subject.mayChange(.target, on: path) {
            try requireEqual(
                sent.head.targetText, request.head.targetText, "With \(path), the target that was sent",
                advice: advice)
        }
        let added = subject.addedFields(on: path)
        try requireSame(
            sent.head.headerFields.filter { !added.contains($0.name) },
            as: request.head.headerFields.filter { !added.contains($0.name) }, "the request that was sent",
            advice: " A field that the decorator adds by design goes into check(adding:).")
        guard !subject.mayChange(.requestContent, on: path) else { return }
        try requireEqual(sent.body.length, request.body.length, "The length of the request's content")
        try requireEqual(sent.body.replay, request.body.replay, "The replay rule of the request's content")
    }

    private static func requireSame(
        _ response: Response, as answer: Response, exceptContent mayChangeContent: Bool
    ) throws(ConformanceFailure) {
        try requireEqual(response.status, answer.status, "The status that was returned")
        try requireEqual(response.status.reasonPhrase, answer.status.reasonPhrase, "The reason phrase")
        try requireSame(
            Array(response.head.headerFields), as: Array(answer.head.headerFields), "the response that was returned")
        try requireEqual(response.metadata.attempts, 1, "The number of attempts in the metadata")
        guard !mayChangeContent else { return }
        try requireEqual(response.body.length, answer.body.length, "The length of the response's content")
        try requireEqual(response.body.replay, answer.body.replay, "The replay rule of the response's content")
    }

    private static func requireSame(
        _ fields: [HTTPField], as originals: [HTTPField], _ whose: String, advice: String = ""
    ) throws(ConformanceFailure) {
        guard fields != originals else { return }
        let lines = fields.map { "\($0.name.rawName): \($0.value)" }
        let expected = originals.map { "\($0.name.rawName): \($0.value)" }
        let added = lines.filter { !expected.contains($0) }
        let missing = expected.filter { !lines.contains($0) }
        var parts: [String] = []
        if !added.isEmpty { parts.append("added: \(added)") }
        if !missing.isEmpty { parts.append("missing: \(missing)") }
        if parts.isEmpty { parts.append("in another order or number: \(lines) in place of \(expected)") }
        throw ConformanceFailure("The fields of \(whose) differ, \(parts.joined(separator: ", ")).\(advice)")
    }

    private static func requireSame(_ data: Data, as body: Body, _ whose: String) throws(ConformanceFailure) {
        let isSame = body.bytes.map { $0 == data } ?? BytePattern.matches(data)
        try require(isSame, "The bytes of \(whose) content were changed.")
    }
}

extension HTTPRequest {
    /// The target of a request, in words.
    fileprivate var targetText: String {
        "\(scheme ?? "no scheme") \(authority ?? "no authority") \(path ?? "no path")"
    }
}
