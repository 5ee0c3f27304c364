import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that the length and the coding in a head are those of the content that follows it.
    ///
    /// A layer that changes content takes `Content-Length` and `Content-Encoding` with it, of requests and responses
    /// (RFC 9110, sections 8.4 and 8.6), and states no length for a body whose length it does not know.
    public static let contentLengths = DecoratorLaw(
        "contentLengths", "The length and the coding in a head are those of the content that follows it."
    ) { subject in
        for path in subject.contentPaths {
            try await checkRequestLength(in: subject, on: path)
            let provoked = try await path.provoke(subject, with: path.request()) { request, _, outcome in
                guard !subject.isOwnRequest(request.head) else { return try outcome.get() }
                let answer = try await outcome.get().carried(
                    for: request.head.method, chunks: 3, knowingLength: true)
                var response = answer.response
                if answer.chunks > 0 { response.head.headerFields[.contentLength] = "\(response.body.length ?? 0)" }
                return response
            }
            guard let response = try await path.response(of: provoked, by: subject),
                response.head.mayHaveContent(for: path.request?.head.method ?? .get)
            else { continue }
            let (head, length) = (response.head, response.body.length)
            let count: Int
            do {
                count = try await response.body.collectAll().data.count
            } catch let error as BodyLengthError {
                throw ConformanceFailure(
                    "With \(path), the length of the response is not that of its content: \(error)")
            }
            try requireEqual(length ?? Int64(count), Int64(count), "With \(path), the length of the response's body")
            try requireEqual(
                head.headerFields[.contentLength] ?? "\(count)", "\(count)",
                "With \(path), the Content-Length of the response")
            guard subject.mayChange(.responseContent, on: path) else { continue }
            try await requireNewCoding(head, count, on: path)
        }
    }

    /// Refuses the coding of the base's content where another content is returned with it.
    private static func requireNewCoding(_ head: HTTPResponse, _ count: Int, on path: ActivePath) async throws {
        guard let coding = head.headerFields[.contentEncoding] else { return }
        let answer = try path.answer(path.request().head, 1)
        try require(
            answer.head.headerFields[.contentEncoding] != coding || answer.body.length == Int64(count),
            "With \(path), content that was changed is still called \(coding).")
    }

    private static func checkRequestLength(in subject: DecoratorSubject, on path: ActivePath) async throws {
        let content = BodyProbe(path.requestContent)
        let body = content.body(chunks: 3, knowingLength: true, replay: .fromStart)
        var request = try path.request(.put, body: body)
        request.head.headerFields[.contentLength] = "\(body.length ?? 0)"
        let failures = Monitor<[ConformanceFailure]>([])
        _ = try await path.provoke(subject, with: request) { request, _, outcome in
            let told = request.head.headerFields[.contentLength]
            do {
                let count = try await request.body.collectAll().data.count
                try requireEqual(told ?? "\(count)", "\(count)", "With \(path), the Content-Length of the request")
            } catch {
                failures.update {
                    $0.append(
                        error as? ConformanceFailure
                            ?? ConformanceFailure(
                                "With \(path), the content of the request could not be read: \(error)"))
                }
            }
            return try outcome.get()
        }
        if let failure = failures.state.first { throw failure }
    }

    /// Demands that a response without content stays as it is.
    ///
    /// The answer to a `HEAD`, a `204` and a `304` have none (RFC 9110, section 6.4.1), although their fields may speak of
    /// some. A layer that decodes, parses or replaces content leaves them alone.
    public static let emptyResponses = DecoratorLaw(
        "emptyResponses", "A response without content reaches the caller without, as it is."
    ) { subject in
        let fields: HTTPFields = [
            .contentType: "application/json", .contentLength: "5000", .contentEncoding: "gzip",
        ]
        var exchanges: [(method: HTTPRequest.Method, head: HTTPResponse)] = [
            (.head, HTTPResponse(status: .ok, headerFields: fields)), (.get, HTTPResponse(status: .noContent)),
            (.get, HTTPResponse(status: .notModified, headerFields: [.eTag: #""1""#])),
        ]
        for path in subject.activePaths where path.calls == 1 && path.request == nil {
            guard let head = try? path.answer(path.request().head, 1).head, head.status.kind == .successful else {
                continue
            }
            exchanges.append((.head, head))
        }
        for (method, head) in exchanges {
            let probe = Probe { _, _ in Response(head: head) }
            let response: Response
            let data: Data
            do {
                response = try await subject.connection(over: probe).send(.lawful(method))
                data = try await response.body.collectAll().data
            } catch {
                throw ConformanceFailure("The \(head.status.code) that answers a \(method) was thrown for: \(error)")
            }
            try requireEqual(response.status, head.status, "The status of an answer to \(method)")
            try requireEqual(data.count, 0, "The bytes behind the \(head.status.code) that answers a \(method)")
            try requireEqual(
                response.head.headerFields, head.headerFields,
                "The fields of the \(head.status.code) that answers a \(method)")
        }
    }
}
