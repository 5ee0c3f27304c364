import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that a layer which has nothing to do changes nothing.
    ///
    /// An ordinary request passes once, and its ordinary response comes back, both as they were: method, target, fields,
    /// the length, the replay rule and the content of bodies, and what transports tell in the metadata. Fields that the
    /// decorator adds by design are told to ``check(adding:_:)``.
    public static let idleness = DecoratorLaw(
        "an idle layer changes nothing", "An ordinary exchange passes a layer once and unchanged."
    ) { subject in
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
            try requireSame(sent, as: request, except: subject.addedFields)
            try requireSame(received.state ?? Data(), as: content, "the request's")
            try requireSame(response, as: answer)
            try requireSame(try await response.body.collectAll().data, as: answer.body, "the response's")
        }
    }

    private static func requireSame(
        _ sent: Request, as request: Request, except added: Set<HTTPField.Name>
    ) throws(ConformanceFailure) {
        try requireEqual(sent.head.method, request.head.method, "The method that was sent")
        try requireEqual(sent.head.targetText, request.head.targetText, "The target that was sent")
        try requireSame(
            sent.head.headerFields.filter { !added.contains($0.name) },
            as: request.head.headerFields.filter { !added.contains($0.name) }, "the request that was sent",
            advice: " A field that the decorator adds by design goes into check(adding:).")
        try requireEqual(sent.body.length, request.body.length, "The length of the request's content")
        try requireEqual(sent.body.replay, request.body.replay, "The replay rule of the request's content")
    }

    private static func requireSame(
        _ response: Response, as answer: Response
    ) throws(ConformanceFailure) {
        try requireEqual(response.status, answer.status, "The status that was returned")
        try requireEqual(response.status.reasonPhrase, answer.status.reasonPhrase, "The reason phrase")
        try requireSame(
            Array(response.head.headerFields), as: Array(answer.head.headerFields), "the response that was returned")
        try requireEqual(response.body.length, answer.body.length, "The length of the response's content")
        try requireEqual(response.body.replay, answer.body.replay, "The replay rule of the response's content")
        try requireEqual(response.metadata.attempts, 1, "The number of attempts in the metadata")
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
    /// What a request is sent to, in words.
    fileprivate var targetText: String {
        "\(scheme ?? "no scheme") \(authority ?? "no authority") \(path ?? "no path")"
    }
}
