import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// Answers that are complete while content of the request is still to be sent.
    public static let earlyAnswers: [TransportCase] = [.earlyAnswer, .answerBesideUpload, .answerBeforeReset]

    /// A server that has answered completely has no need of the rest of the content (RFC 9112, section 9.3).
    public static let answerBesideUpload = TransportCase(
        "answerBesideUpload", "A complete answer reaches the caller while content is still to be made."
    ) { subject in
        try await check(subject, endsInReset: false, event: "beside an upload")
    }

    /// A server that does not read the rest of the content ends the connection, which must not cost the answer.
    public static let answerBeforeReset = TransportCase(
        "answerBeforeReset", "A complete answer reaches the caller when the connection breaks after it."
    ) { subject in
        try await check(subject, endsInReset: true, event: "before a reset")
    }

    private static func check(
        _ subject: TransportSubject, endsInReset: Bool, event: String
    ) async throws {
        for (status, length) in [(HTTPResponse.Status.ok, nil), (.contentTooLarge, nil), (.ok, 1 << 20), (.created, 9)]
        {
            let bench = try await subject.bench()
            let (answered, produced) = (Gate(), Gate())
            bench.origin.enqueue(
                .script(
                    .head(status, ["Content-Length": "6"]), .raw("answer"), .wait(answered),
                    endsInReset ? .reset : .hang),
                answering: .afterHead)
            let body = Body(length: length.map(Int64.init), replay: .once) { _ in StalledReader(gate: produced) }
            let response = try await withDeadline(of: .seconds(10), "No head came \(event).") {
                try await bench.connection.send(bench.request(.post, body: body))
            }
            try requireEqual(response.status, status, "The status \(event)")
            let data = try await withDeadline(of: .seconds(10), "The content did not end \(event).") {
                if endsInReset { answered.open() }
                return try await response.body.collectAll().data
            }
            try requireEqual(data, Data("answer".utf8), "The content of a \(status.code) \(event)")
            answered.open()
            produced.open()
            try await bench.requireUsable(after: "a complete answer \(event)")
        }
    }
}

/// Content of which the first bytes are there, and the rest is still to be made.
private struct StalledReader: BodyReader {
    let gate: Gate
    var hasBegun = false

    let trailers: HTTPFields? = nil

    mutating func next() async throws -> Data? {
        guard hasBegun else {
            hasBegun = true
            return Data("begun".utf8)
        }
        try await gate.wait()
        return nil
    }
}
