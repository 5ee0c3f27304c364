import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension TransportCase {
    /// Redirections, challenges, codings and caching, which are left to layers.
    public static let untouched: [TransportCase] = [
        .redirections, .redirectionsToNowhere, .challenges, .cookies, .caching, .codings,
        .unknownCodings, .brokenCodings, .answeredStatuses,
    ]

    /// A redirection is a response with its content; following it is a layer's job.
    package static let redirections = TransportCase("redirections") { bench in
        for code in [300, 301, 302, 303, 305, 307, 308] {
            for method in [HTTPRequest.Method.get, .post, .head] {
                let response = try await bench.send(
                    method, to: .init(.init(code: code), fields: ["Location": "/elsewhere"], body: "moved"),
                    body: method == .post ? "hello" : .empty)
                try expect(response.status.code, is: code, "status")
                try expect(response.head.headerFields[.location], is: "/elsewhere", "location")
                let text = try await response.text()
                try expect(text, is: method == .head ? "" : "moved", "content of \(code) for \(method)")
            }
        }
        try expect(Set(bench.origin.requests.map(\.target)), is: ["/"], "targets")
    }

    /// A redirection without a usable `Location` is also a response with its content.
    package static let redirectionsToNowhere = TransportCase("redirectionsToNowhere") { bench in
        for code in [301, 302, 303, 307, 308] {
            for location in [nil, "", "ftp://example.com/", "http://", "http://[", "mailto:a@b"] {
                let fields = RawFields(location.map { [.init(name: "Location", value: $0)] } ?? [])
                let text = try await bench.content(of: .init(.init(code: code), fields: fields, body: "moved"))
                try expect(text, is: "moved", "content of \(code) to \(location ?? "none")")
            }
        }
    }

    /// A challenge is a response with its content; answering it is a layer's job.
    package static let challenges = TransportCase("challenges") { bench in
        for challenge in [
            #"Basic realm="x""#, #"basic realm="x""#, "Bearer", #"Digest realm="x", nonce="y""#, "Negotiate", "NTLM",
            #"Basic realm="x", Bearer"#, nil,
        ] {
            for (code, name) in [(401, "WWW-Authenticate"), (407, "Proxy-Authenticate")] {
                let fields = RawFields(challenge.map { [.init(name: name, value: $0)] } ?? [])
                let answer = LoopbackOrigin.Answer(.init(code: code), fields: fields, body: "who?")
                let response = try await bench.send(.post, to: answer, body: "hello")
                try expect(response.status.code, is: code, "status")
                try expect(
                    response.head.headerFields[code == 401 ? .wwwAuthenticate : .proxyAuthenticate], is: challenge,
                    "challenge")
                try expect(try await response.text(), is: "who?", "content of \(code)")
            }
        }
        let several = RawFields([#"Basic realm="x""#, "Bearer"].map { .init(name: "WWW-Authenticate", value: $0) })
        let response = try await bench.send(to: .init(.unauthorized, fields: several, body: "who?"))
        try expect(response.head.headerFields[.wwwAuthenticate], is: #"Basic realm="x", Bearer"#, "challenges")
        try expect(try await response.text(), is: "who?")
        try expect(bench.origin.requests.count, is: 17, "requests")
        try expect(bench.origin.requests.allSatisfy { $0.fields["Authorization"] == nil }, "no credentials")
    }

    /// Cookies are a layer's job.
    package static let cookies = TransportCase("cookies") { bench in
        for _ in 0..<2 {
            _ = try await bench.send(to: .init(fields: ["Set-Cookie": "a=1; Path=/"], body: "x")).body.collectAll()
        }
        try expect(bench.origin.requests.allSatisfy { $0.fields["Cookie"] == nil }, "no cookie")
    }

    /// Caching is a layer's job.
    package static let caching = TransportCase("caching") { bench in
        for text in ["one", "two"] {
            let answer = LoopbackOrigin.Answer(
                fields: [
                    "Cache-Control": "public, max-age=3600", "ETag": #""1""#,
                    "Last-Modified": "Sat, 29 Oct 1994 19:43:31 GMT", "Date": "Sat, 29 Oct 2033 19:43:31 GMT",
                ], body: text)
            try expect(try await bench.content(of: answer), is: text)
        }
        for request in bench.origin.requests {
            let isConditional = request.fields["If-None-Match"] ?? request.fields["If-Modified-Since"]
            try expect(isConditional, is: nil, "condition")
        }
    }

    /// Coded content is either returned as it is, or decoded, and the response says which.
    ///
    /// Untouched: the bytes with their `Content-Encoding`. Decoded: the plain bytes without `Content-Encoding` and the
    /// length of the coded bytes, and with `ResponseMetadata.decodedContentCodings`. The coding `identity` changes nothing.
    package static let codings = TransportCase("codings") { bench in
        for (coding, bytes) in codedHello {
            let response = try await bench.send(
                to: .init(fields: ["Content-Encoding": coding, "ETag": #""1""#], body: bytes))
            try expect(response.head.headerFields[.eTag], is: #""1""#, "ETag")
            let data = try await response.body.collectAll().data
            let length = response.head.headerFields[.contentLength]
            switch response.head.headerFields[.contentEncoding] {
            case coding:
                try expect(data, is: bytes, "coded bytes")
                try expect(length, is: "\(bytes.count)", "length")
                try expect(response.metadata.decodedContentCodings, is: [], "codings")
            case nil:
                try expect(data, is: Data("hello".utf8), "content")
                try expect(length, is: nil, "length")
                // In the order in which they were undone.
                try expect(
                    response.metadata.decodedContentCodings, is: coding.components(separatedBy: ", ").reversed(),
                    "codings")
            case let other:
                try expect(other, is: coding, "coding")
            }
        }
        let plain = try await bench.send(to: .init(fields: ["Content-Encoding": "identity"], body: "hello"))
        try expect(try await plain.text(), is: "hello")
        try expect(plain.metadata.decodedContentCodings, is: [], "codings")
    }

    /// A coding that a transport does not know is left to layers.
    package static let unknownCodings = TransportCase("unknownCodings") { bench in
        let response = try await bench.send(to: .init(fields: ["Content-Encoding": "x-odd"], body: "hello"))
        try expect(response.head.headerFields[.contentEncoding], is: "x-odd", "coding")
        try expect(try await response.text(), is: "hello")
    }

    /// Content that is not what its coding says is an error where it is decoded, and never an empty success.
    package static let brokenCodings = TransportCase("brokenCodings") { bench in
        do {
            let response = try await bench.send(to: .init(fields: ["Content-Encoding": "gzip"], body: "hello"))
            try expect(try await response.text(), is: "hello")
            try expect(response.head.headerFields[.contentEncoding], is: "gzip", "coding")
        } catch let error as TransportError {
            try expect(error.code, is: .undecodableContent, "code")
        }
    }

    /// A status is never an error.
    package static let answeredStatuses = TransportCase("answeredStatuses") { bench in
        let codes = [
            200, 201, 202, 203, 206, 207, 226, 299, 399, 400, 403, 404, 405, 408, 409, 410, 412, 413, 416, 417, 418,
            421, 425, 429, 431, 451, 499, 500, 501, 502, 503, 504, 511, 599, 600, 999,
        ]
        for code in codes {
            let response = try await bench.send(to: .init(.init(code: code), body: "hello"))
            try expect(response.status.code, is: code, "status")
            try expect(try await response.text(), is: "hello", "content of \(code)")
        }
        try expect(bench.origin.requests.count, is: codes.count, "requests")
    }

    private static let codedHello: [(coding: String, bytes: Data)] = [
        ("gzip", .gzippedHello), ("x-gzip", .gzippedHello),
        ("deflate", Data([0x78, 0x9C, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0, 0x06, 0x2C, 0x02, 0x15])),
        ("br", Data([0x0B, 0x02, 0x80, 0x68, 0x65, 0x6C, 0x6C, 0x6F, 0x03])),
        ("zstd", Data(base64Encoded: "KLUv/QRYKQAAaGVsbG+jbZ+I") ?? Data()),
        // The 25 bytes of gzip as they are, within a frame of Brotli (RFC 7932, section 9.2).
        ("gzip, br", Data([0x80, 0x01, 0x10]) + .gzippedHello + [0x03]),
    ]
}
