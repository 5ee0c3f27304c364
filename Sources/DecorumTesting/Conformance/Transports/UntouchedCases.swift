import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// Redirections, challenges, codings and caching, which are left to layers.
    public static let untouched: [TransportCase] = [
        .redirections, .redirectionsToNowhere, .challenges, .cookies, .caching, .codings, .identityCodings,
        .unknownCodings, .brokenCodings, .answeredStatuses,
    ]

    /// A redirection is a response with its content; following it is a layer's job.
    public static let redirections = TransportCase(
        "redirections", "A redirection is returned with its content, and not followed."
    ) { subject in
        let bench = try await subject.bench()
        for code in [300, 301, 302, 303, 305, 307, 308] {
            for method in [HTTPRequest.Method.get, .post, .head] {
                let response = try await bench.send(
                    method, to: .init(.init(code: code), fields: ["Location": "/elsewhere"], body: "moved"),
                    body: method == .post ? "hello" : .empty)
                try requireEqual(response.status.code, code, "The status")
                try requireEqual(response.head.headerFields[.location], "/elsewhere", "The location")
                let text = String(decoding: try await response.body.collectAll().data, as: UTF8.self)
                try requireEqual(text, method == .head ? "" : "moved", "The content of a \(code) for \(method)")
            }
        }
        try requireEqual(Set(bench.origin.requests.map(\.target)), ["/"], "The targets")
    }

    /// A redirection without a usable `Location` is also a response with its content.
    public static let redirectionsToNowhere = TransportCase(
        "redirectionsToNowhere", "A redirection without a usable Location is returned with its content."
    ) { subject in
        let bench = try await subject.bench()
        for code in [301, 302, 303, 307, 308] {
            for location in [nil, "", "ftp://example.com/", "http://", "http://[", "mailto:a@b"] {
                let fields = RawFields(location.map { [.init(name: "Location", value: $0)] } ?? [])
                let text = try await bench.content(of: .init(.init(code: code), fields: fields, body: "moved"))
                try requireEqual(text, "moved", "The content of a \(code) to \(String(describing: location))")
            }
        }
    }

    /// A challenge is a response with its content; answering it is a layer's job.
    public static let challenges = TransportCase(
        "challenges", "A 401 and a 407 are returned with their content, whatever they ask for."
    ) { subject in
        let bench = try await subject.bench()
        for challenge in [
            #"Basic realm="x""#, #"basic realm="x""#, "Bearer", #"Digest realm="x", nonce="y""#, "Negotiate", "NTLM",
            #"Basic realm="x", Bearer"#, nil,
        ] {
            for (code, name) in [(401, "WWW-Authenticate"), (407, "Proxy-Authenticate")] {
                let fields = RawFields(challenge.map { [.init(name: name, value: $0)] } ?? [])
                let answer = LoopbackOrigin.Answer(.init(code: code), fields: fields, body: "who?")
                let response = try await bench.send(.post, to: answer, body: "hello")
                try requireEqual(response.status.code, code, "The status")
                try requireEqual(
                    response.head.headerFields[code == 401 ? .wwwAuthenticate : .proxyAuthenticate], challenge,
                    "The challenge")
                try requireEqual(
                    try await response.body.collectAll().data, Data("who?".utf8), "The content of a \(code)")
            }
        }
        let several = RawFields([#"Basic realm="x""#, "Bearer"].map { .init(name: "WWW-Authenticate", value: $0) })
        let response = try await bench.send(to: .init(.unauthorized, fields: several, body: "who?"))
        try requireEqual(
            response.head.headerFields[.wwwAuthenticate], #"Basic realm="x", Bearer"#, "The challenges on two lines")
        try requireEqual(try await response.body.collectAll().data, Data("who?".utf8), "The content")
        try requireEqual(bench.origin.requests.count, 17, "The number of requests")
        try require(
            bench.origin.requests.allSatisfy { $0.fields["Authorization"] == nil }, "Credentials were made up.")
    }

    /// Cookies are a layer's job.
    public static let cookies = TransportCase("cookies", "A cookie that is set is not sent back.") { subject in
        let bench = try await subject.bench()
        for _ in 0..<2 {
            _ = try await bench.send(to: .init(fields: ["Set-Cookie": "a=1; Path=/"], body: "x")).body.collectAll()
        }
        try require(bench.origin.requests.allSatisfy { $0.fields["Cookie"] == nil }, "A cookie was sent back.")
    }

    /// Caching is a layer's job.
    public static let caching = TransportCase(
        "caching", "A response that may be stored is asked for again, without conditions."
    ) { subject in
        let bench = try await subject.bench()
        for text in ["one", "two"] {
            let answer = LoopbackOrigin.Answer(
                fields: [
                    "Cache-Control": "public, max-age=3600", "ETag": #""1""#,
                    "Last-Modified": "Sat, 29 Oct 1994 19:43:31 GMT", "Date": "Sat, 29 Oct 2033 19:43:31 GMT",
                ], body: text)
            try requireEqual(try await bench.content(of: answer), text, "The content")
        }
        for request in bench.origin.requests {
            let isConditional = request.fields["If-None-Match"] ?? request.fields["If-Modified-Since"]
            try requireEqual(isConditional, nil, "The condition of a request")
        }
    }

    /// Coded content is either returned as it is, or decoded, and the response says which.
    ///
    /// Untouched: the bytes with their `Content-Encoding`. Decoded: the plain bytes without `Content-Encoding` and the
    /// length of the coded bytes, and with `ResponseMetadata.decodedContentCodings`.
    public static let codings = TransportCase(
        "codings", "Coded content comes untouched with its coding, or decoded with what was undone."
    ) { subject in
        let bench = try await subject.bench()
        for (coding, bytes) in codedHello {
            let response = try await bench.send(
                to: .init(fields: ["Content-Encoding": coding, "ETag": #""1""#], body: Data(bytes)))
            try requireEqual(response.head.headerFields[.eTag], #""1""#, "The ETag")
            let data = try await response.body.collectAll().data
            let length = response.head.headerFields[.contentLength]
            switch response.head.headerFields[.contentEncoding] {
            case coding:
                try requireEqual(data, Data(bytes), "The coded bytes")
                try requireEqual(length, "\(bytes.count)", "The length of the coded bytes")
                try requireEqual(response.metadata.decodedContentCodings, [], "The codings that were undone")
            case nil:
                try requireEqual(data, Data("hello".utf8), "The decoded content")
                try requireEqual(length, nil, "The length of the coded bytes")
                // In the order in which they were undone.
                try requireEqual(
                    response.metadata.decodedContentCodings, coding.components(separatedBy: ", ").reversed(),
                    "The codings that were undone")
            case let other:
                throw ConformanceFailure("The coding \(coding) became \(String(describing: other)).")
            }
        }
    }

    /// Content with `Content-Encoding: identity` has no coding, and stays as it is.
    public static let identityCodings = TransportCase(
        "identityCodings", "Content in the identity coding is untouched."
    ) { subject in
        let bench = try await subject.bench()
        let response = try await bench.send(to: .init(fields: ["Content-Encoding": "identity"], body: "hello"))
        try requireEqual(try await response.body.collectAll().data, Data("hello".utf8), "The content")
        try requireEqual(response.metadata.decodedContentCodings, [], "The codings that were undone")
    }

    /// A coding that a transport does not know is left to layers.
    public static let unknownCodings = TransportCase(
        "unknownCodings", "Content in an unknown coding is untouched."
    ) { subject in
        let bench = try await subject.bench()
        let response = try await bench.send(to: .init(fields: ["Content-Encoding": "x-odd"], body: "hello"))
        try requireEqual(response.head.headerFields[.contentEncoding], "x-odd", "The coding")
        try requireEqual(try await response.body.collectAll().data, Data("hello".utf8), "The content")
    }

    /// Content that is not what its coding says is an error where it is decoded, and never an empty success.
    public static let brokenCodings = TransportCase(
        "brokenCodings", "Content that cannot be decoded fails as such, or comes untouched with its coding."
    ) { subject in
        let bench = try await subject.bench()
        do {
            let response = try await bench.send(to: .init(fields: ["Content-Encoding": "gzip"], body: "hello"))
            try requireEqual(try await response.body.collectAll().data, Data("hello".utf8), "The content")
            try requireEqual(response.head.headerFields[.contentEncoding], "gzip", "The coding")
        } catch let error as TransportError {
            try requireEqual(error.code, .undecodableContent, "The code of the error")
        }
    }

    /// A status is never an error.
    public static let answeredStatuses = TransportCase(
        "answeredStatuses", "Every final status is a response with its content."
    ) { subject in
        let bench = try await subject.bench()
        let codes = [
            200, 201, 202, 203, 206, 207, 226, 299, 399, 400, 403, 404, 405, 408, 409, 410, 412, 413, 416, 417, 418,
            421, 425, 429, 431, 451, 499, 500, 501, 502, 503, 504, 511, 599, 600, 999,
        ]
        for code in codes {
            let response = try await bench.send(to: .init(.init(code: code), body: "hello"))
            try requireEqual(response.status.code, code, "The status")
            try requireEqual(
                try await response.body.collectAll().data, Data("hello".utf8), "The content of a \(code)")
        }
        try requireEqual(bench.origin.requests.count, codes.count, "The number of requests")
    }

    private static let gzipHello: [UInt8] = [
        0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 2, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0, 0x86, 0xA6, 0x10, 0x36, 5, 0, 0,
        0,
    ]

    private static let codedHello: [(coding: String, bytes: [UInt8])] = [
        ("gzip", gzipHello),
        ("x-gzip", gzipHello),
        ("deflate", [0x78, 0x9C, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0, 0x06, 0x2C, 0x02, 0x15]),
        ("br", [0x0B, 0x02, 0x80, 0x68, 0x65, 0x6C, 0x6C, 0x6F, 0x03]),
        (
            "zstd",
            [0x28, 0xB5, 0x2F, 0xFD, 0x04, 0x58, 0x29, 0, 0, 0x68, 0x65, 0x6C, 0x6C, 0x6F, 0xA3, 0x6D, 0x9F, 0x88]
        ),
        // The 25 bytes of gzip as they are, within a frame of Brotli (RFC 7932, section 9.2).
        ("gzip, br", [0x80, 0x01, 0x10] + gzipHello + [0x03]),
    ]
}
