#if CassetteImport
import DecorumTesting
import Foundation
import HTTPTypes

extension LoopbackOrigin {
    /// Starts an origin with an answer for each peculiarity that a recording can have.
    static func forRecorders() throws -> LoopbackOrigin {
        let origin = try LoopbackOrigin()
        origin.addTexts()
        origin.addBytes()
        origin.addHeads()
        origin.addFailures()
        return origin
    }

    private func addTexts() {
        route(nil, "/text", .init(fields: ["Content-Type": "text/plain; charset=utf-8"], body: "Grüße aus Köln ☔️\n"))
        let latin1 = Data([0x47, 0x72, 0xFC, 0xDF, 0x65, 0x0A])
        route(.get, "/latin1", .init(fields: ["Content-Type": "text/plain; charset=iso-8859-1"], body: latin1))
        // The word for "Japan" in Shift_JIS.
        let japanese = Data([0x93, 0xFA, 0x96, 0x7B, 0x0A])
        route(.get, "/shift-jis", .init(fields: ["Content-Type": "text/html; charset=shift_jis"], body: japanese))
        let json = #"{"name": "Käse", "escaped": "\u00e4\n", "number": 1.50, "list": [true, null], "empty": {}}"#
        route(.get, "/json", .init(fields: ["Content-Type": "application/json", "ETag": #""j1""#], body: json))
        // Each line is one that a writer of YAML has to quote, or to fold.
        let lines = [
            "  leading blanks", "trailing blanks  ", "a: b # no comment", "- no list", "'single' \"double\" \\n",
            "tab\there", "bell\u{7}", "nel\u{85}", "line separator\u{2028}", "no-break\u{A0}space", "", "",
            "{ } [ ] & * ! | > %",
            String(repeating: "a long line of many words ", count: 12), String(repeating: "x", count: 200), "yes",
            "1e5",
        ]
        route(.get, "/lines", .init(fields: ["Content-Type": "text/plain"], body: lines.joined(separator: "\n")))
        route(
            .get, "/windows",
            .init(fields: ["Content-Type": "text/plain"], body: "one\r\ntwo\r\n\r\nlast without an end"))
        route(
            .get, "/events",
            .init(fields: ["Content-Type": "text/event-stream"], body: "id: 1\ndata: one\n\nid: 2\ndata: two\n\n"))
        route(
            .get, "/page",
            .init(
                fields: ["Content-Type": "text/html; charset=utf-8"],
                body: #"<!doctype html><title>Käse</title><img src="/image"><p>text"#))
    }

    private func addBytes() {
        route(.get, "/image", .init(fields: ["Content-Type": "image/png"], body: Bytes.png))
        let zeros = Data([0, 1, 2, 0xFF, 0xFE, 0x80]) + Data(repeating: 0, count: 90)
        route(.get, "/octets", .init(fields: ["Content-Type": "application/octet-stream"], body: zeros))
        let damaged = Data("before ".utf8) + Data([0xC3, 0x28, 0xFF]) + Data(" after".utf8)
        route(.get, "/damaged", .init(fields: ["Content-Type": "text/plain; charset=utf-8"], body: damaged))
        route(
            .get, "/gzip",
            .init(fields: ["Content-Type": "application/json", "Content-Encoding": "gzip"], body: Bytes.gzip))
        route(
            .get, "/deflate",
            .init(fields: ["Content-Type": "application/json", "Content-Encoding": "deflate"], body: Bytes.zlib))
        route(nil, "/echo") { request in
            Answer(
                .created,
                fields: ["Content-Type": request.fields["Content-Type"] ?? "text/plain", "Location": "/echo/1"],
                body: request.body)
        }
    }

    private func addHeads() {
        route(
            .get, "/fields",
            .init(
                fields: [
                    "Content-Type": "text/plain", "Set-Cookie": "a=1; Path=/; Expires=Wed, 21 Oct 2099 07:28:00 GMT",
                    "Set-Cookie": "b=2; HttpOnly", "Link": "</1>; rel=prev", "Link": "</3>; rel=next, </9>; rel=last",
                    "X-Empty": "", "X-Quoted": #""a, b: c""#, "Cache-Control": "max-age=60, private",
                ], body: "fields"))
        route(nil, "/moved", .init(.found, fields: ["Location": "/text"], body: "moved"))
        route(.post, "/other", .init(.seeOther, fields: ["Location": "/json"]))
        route(nil, "/empty", .init(.noContent))
        route(nil, "/nothing", .init(fields: ["Content-Type": "text/plain"]))
        route(.get, "/unchanged", .init(.notModified, fields: ["ETag": #""u1""#]))
        let problem: RawFields = ["Content-Type": "application/problem+json"]
        route(.get, "/missing", .init(.notFound, fields: problem, body: #"{"title":"Not found","status":404}"#))
        route(
            .get, "/busy",
            .init(.serviceUnavailable, fields: ["Retry-After": "120", "Content-Type": "text/plain"], body: "later"))
        route(
            .get, "/chunks",
            .chunked(
                fields: ["Content-Type": "text/plain", "Trailer": "X-Sum"], chunks: ["one ", "two ", "three"],
                trailers: ["X-Sum": "13"]))
        route(.get, "/until-close", .untilClose(fields: ["Content-Type": "text/plain"], body: "until close"))
    }

    private func addFailures() {
        route(
            .get, "/cut",
            .script(.head(.ok, ["Content-Type": "text/plain", "Content-Length": "100"]), .raw("half"), .close))
        route(.get, "/closed", .closing)
        route(.get, "/reset", .resetting)
    }

    private enum Bytes {
        /// An image of one pixel.
        static let png = decoded(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
        /// `{"coded": "…"}` in gzip, and the same in zlib.
        static let gzip = decoded("H4sIAAAAAAACA6tWSs5PSU1RslJQci86vOfw/FQFWtFKtQDKOv6pbQAAAA==")
        static let zlib = decoded("eJyrVkrOT0lNUbJSUHIvOrzn8PxUBVrRSrUAH+k1Tg==")

        private static func decoded(_ base64: String) -> Data {
            Data(base64Encoded: base64) ?? Data()
        }
    }
}
#endif
