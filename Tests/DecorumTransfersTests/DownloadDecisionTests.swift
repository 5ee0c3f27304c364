import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTransfers

/// What an answer to a request for bytes means, and how long to wait after it.
@Suite(.timeLimit(.minutes(3))) struct DownloadDecisionTests {
    /// What is known of a content of 100 bytes when a request is sent; else 40 have arrived, and the rest is asked for.
    struct Situation {
        var asked: Range<Int64>? = 40..<Int64.max
        var arrived: Int64 = 40
        var known = whole

        static let rest = Situation()
        static let end = Situation(asked: 100..<Int64.max, arrived: 100)
        static let dated = Situation(known: ofDate)
        /// The first 10 bytes are asked for; or the whole; or the whole after 40 bytes.
        static let first = Situation(asked: 0..<10, arrived: 0, known: .init())
        static let fresh = Situation(asked: nil, arrived: 0, known: .init())
        static let again = Situation(asked: nil)
    }

    private static let tag = #""a""#
    private static func date(_ time: String) -> String { "Sun, 06 Nov 1994 \(time) GMT" }
    private static let whole = DownloadContent(validator: tag, length: 100)
    private static let ofDate = DownloadContent(validator: date("08:49:37"), length: 100)

    private func answer(
        _ status: Int, _ fields: HTTPFields = [:], length: Int64? = nil, decoded: [String] = []
    ) -> Response {
        let body = Body(length: length, replay: .once) { _ in RandomReader(rest: Data()) }
        var response = Response(status: .init(code: status), fields: fields, body: body)
        response.metadata.decodedContentCodings = decoded
        return response
    }

    private func range(_ value: String, _ tag: String? = tag, _ coding: String? = nil, _ status: Int = 206) -> Response
    {
        var response = answer(status, [.contentRange: value])
        (response.head.headerFields[.eTag], response.head.headerFields[.contentEncoding]) = (tag, coding)
        return response
    }

    @Test func `An answer means one step`() {
        let (tag, whole) = (Self.tag, Self.whole)
        let part: HTTPFields = [.contentRange: "bytes 40-99/100", .eTag: tag]
        let rows: [(Situation, Response, DownloadStep)] = [
            (.rest, range("bytes 40-99/100"), .take(40..<100, of: whole)),
            // A part of the rest, as of a server that limits parts.
            (.rest, range("bytes 40-49/100"), .take(40..<50, of: whole)),
            (.rest, range("bytes 40-99/100", tag, "Identity"), .take(40..<100, of: whole)),
            // Ranges that lie, and another coding.
            (.rest, range("bytes 30-99/100"), .askAnew(.wrongRange)),
            (.first, range("bytes 0-10/100"), .askAnew(.wrongRange)),
            (.rest, range("bytes 40-99/100", tag, "gzip"), .askAnew(.wrongRange)),
            // A part of another content.
            (.rest, range("bytes 40-98/99"), .askAnew(.changed)),
            (.rest, range("bytes 40-99/100", #""b""#), .askAnew(.changed)),
            (.rest, range("bytes 40-99/100", nil), .askAnew(.changed)),
            // The answer to a date may leave the validators out.
            (.dated, range("bytes 40-99/100", nil), .take(40..<100, of: Self.ofDate)),
            (.dated, range("bytes 40-99/100"), .askAnew(.changed)),
            // The first part needs a validator, unless it is the whole.
            (.first, range("bytes 0-9/100"), .take(0..<10, of: whole)),
            (.first, range("bytes 0-9/100", nil), .askAnew(.noValidator)),
            (.first, range("bytes 0-9/10", nil), .take(0..<10, of: .init(length: 10))),
            (.fresh, range("bytes 0-99/100"), .refuse),
            // A 200 with the whole content: of the same version, of another one, and as it was asked for.
            (.rest, answer(200, [.eTag: tag, .contentLength: "100"]), .begin(whole, because: .rangeIgnored)),
            (.rest, answer(200, [.eTag: #""b""#]), .begin(.init(validator: #""b""#), because: .changed)),
            (.again, answer(200, [.eTag: tag]), .begin(.init(validator: tag), because: .noValidator)),
            (.fresh, answer(200, [.contentLength: "-1"]), .begin(.init(), because: nil)),
            // All has arrived, or another content is shorter.
            (.end, answer(416, [.contentRange: "bytes */100"]), .complete),
            (.first, range("bytes */0", #""b""#, nil, 416), .complete),
            (.rest, answer(416, [.contentRange: "bytes */100"]), .askAnew(.changed)),
            (.rest, answer(416, [.contentRange: "bytes */40"]), .askAnew(.changed)),
            (.end, range("bytes */100", #""b""#, nil, 416), .askAnew(.changed)),
            (.end, answer(416), .askAnew(.changed)),
            (.again, answer(416), .refuse),
            (.rest, answer(412), .askAnew(.changed)),
            (.again, answer(412), .refuse),
            // Another length of the body counts, and a body that was decoded on the way does not.
            (.rest, answer(206, part, length: 59), .askAnew(.wrongRange)),
            (.rest, answer(206, part, decoded: ["gzip"]), .askAnew(.wrongRange)),
            (.fresh, answer(200, [.eTag: tag], length: 50, decoded: ["gzip"]), .begin(.init(), because: nil)),
            (.rest, answer(404), .refuse), (.rest, answer(409), .refuse), (.rest, answer(503), .wait),
        ]
        for (situation, response, expected) in rows {
            let step = DownloadDecision.step(
                after: response, asking: situation.asked, of: situation.known, arrived: situation.arrived)
            #expect(step == expected, "\(situation) \(response.head)")
        }
    }

    @Test func `Only a strong validator names the bytes of a content`() {
        let (old, soon, late) = (Self.date("08:49:37"), Self.date("08:50:36"), Self.date("08:50:37"))
        let rows: [(HTTPFields, String?)] = [
            ([.eTag: Self.tag], Self.tag), ([.eTag: Self.tag, .acceptRanges: "none"], nil),
            ([.eTag: #"W/"a""#, .lastModified: old, .date: late], nil), ([.lastModified: old, .date: late], old),
            ([.lastModified: old, .date: soon], nil), ([.lastModified: old], nil),
            ([.lastModified: "yesterday", .date: late], nil),
        ]
        for (fields, validator) in rows {
            let head = HTTPResponse(status: .ok, headerFields: fields)
            #expect(DownloadDecision.validator(of: head) == validator, "\(fields)")
        }
    }

    @Test func `A wait follows the server up to a limit, and no policy ends the process`() {
        func wait(_ asked: Duration?, _ policy: ResumptionPolicy = .standard) -> Duration? {
            policy.wait(afterFailures: policy.attempts - 1, asked: asked, using: SeededGenerator(seed: 1))
        }
        #expect(wait(nil).map { $0 <= .seconds(8) } == true)
        #expect(wait(.seconds(60)).map { $0 >= .seconds(60) } == true && wait(.seconds(61)) == nil)
        #expect(wait(nil, ResumptionPolicy(attempts: .max)) != nil && wait(.seconds(Int64.max)) == nil)
    }
}
