import Foundation
import HTTPTypes
import Testing

@testable import Decorum

@Suite struct CompressionDecisionTests {
    private static let long = Body(String(repeating: "x", count: 2000))
    private static let once = Body(replay: .once) { _ in DataBodyReader(Data()) }
    private static let again = Body(replay: .fromStart) { _ in DataBodyReader(Data()) }
    private static let known = Body(length: 5000, replay: .once) { _ in DataBodyReader(Data()) }

    @Test(
        arguments: [
            (.empty, [:], .pass), ("short", [:], .pass), (long, [:], .whole),
            (long, [.contentType: "text/plain"], .whole),
            (long, [.contentType: "image/jpeg"], .pass), (long, [.contentEncoding: "br"], .pass),
            (long, [.contentEncoding: "identity"], .pass), (long, [.contentRange: "bytes 0-1999/4000"], .pass),
            (long, [.contentMD5: "x"], .pass), (Body(Data(count: (1 << 20) + 1)), [:], .streamed), (once, [:], .pass),
            (again, [:], .streamed), (known, [:], .streamed),
        ] as [(Body, HTTPFields, CompressionDecision)])
    func `How a request is compressed`(body: Body, fields: HTTPFields, expected: CompressionDecision) throws {
        let request = try Request.post("https://a.example/", fields: fields, body: body)
        #expect(CompressionDecision.of(request, policy: .standard) == expected)
    }

    @Test func `A stream is compressed where the policy says so, and the length from which on`() throws {
        let stream = try Request.post("https://a.example/", body: Self.once)
        #expect(CompressionDecision.of(stream, policy: .init(compressesStreams: true)) == .streamed)
        let bytes = try Request.post("https://a.example/", body: Self.long)
        #expect(CompressionDecision.of(bytes, policy: .init(minimumLength: 2000)) == .whole)
        #expect(CompressionDecision.of(bytes, policy: .init(minimumLength: 2001)) == .pass)
    }

    @Test(
        arguments: [
            (nil, false), ("text/plain", false), ("application/json", false), ("image/svg+xml; charset=utf-8", false),
            ("image/png", true), ("IMAGE/PNG ; q", true), ("video/mp4", true), ("application/zip", true),
            ("application/epub+zip", true), ("application/octet-stream", false), ("font/woff2", true),
            ("font/ttf", false),
            ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", true),
        ] as [(String?, Bool)])
    func `Media types that are compressed as such`(type: String?, expected: Bool) {
        #expect(CompressionDecision.isCoded(mediaType: type) == expected)
    }

    @Test(
        arguments: [
            (415, nil, false), (415, "", true), (415, "identity", true), (415, "br", true), (415, "br, gzip", false),
            (415, "x-gzip", false), (415, "*", false), (415, "gzip;q=0, *", true), (415, "*;q=0", true),
            (415, "gzip;q=0.5", false), (415, "*;q=0, gzip", false), (400, "identity", false), (200, "identity", false),
        ] as [(Int, String?, Bool)])
    func `A response that refuses the coding`(code: Int, value: String?, expected: Bool) {
        var head = HTTPResponse(status: .init(code: code))
        head.headerFields[.acceptEncoding] = value
        #expect(CompressionDecision.isRefused(.gzip, by: head) == expected)
    }
}

extension HTTPField.Name {
    // A name without blanks.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let contentMD5 = HTTPField.Name("Content-MD5")!
}
