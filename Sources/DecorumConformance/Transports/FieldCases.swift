import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension TransportCase {
    private static let sentFields: RawFields = [
        "X-One": "1", "Accept": "text/plain", "X-Repeated": "a", "x-lower": "b", "X-Repeated": "c", "X-Text": "naïve",
        "!#$%&'*+-.^_`|~09": "odd", "X-Long": String(repeating: "x", count: 8 << 10),
    ]

    /// The values of a request's fields arrive, repeats at least as a list.
    package static let requestFields = TransportCase("requestFields") { bench in
        _ = try await bench.send(to: .init(), fields: HTTPFields(sentFields))
        let received = try await bench.waitForRequests(1)[0].fields
        for name in Set(sentFields.lines.map(\.name)) {
            let lists = [received, sentFields].map { fields in
                fields.values(of: name).joined(separator: ",").filter { $0 != " " }
            }
            try expect(lists[0], is: lists[1], "field \(name)")
        }
    }

    /// The lines of a request arrive as they were: their number, their order, the case of their names, empty ones.
    package static let requestLines = TransportCase("requestLines") { bench in
        let fields = sentFields + ["X-Empty": ""]
        _ = try await bench.send(to: .init(), fields: HTTPFields(fields))
        let names = Set(fields.lines.map(\.name))
        let received = try await bench.waitForRequests(1)[0].fields.lines.filter { names.contains($0.name) }
        try expect(received, is: fields.lines, "field lines")
    }

    /// A transport adds what HTTP needs and no more: every other field is a layer's decision.
    package static let addedFields = TransportCase("addedFields") { bench in
        _ = try await bench.send(to: .init())
        _ = try await bench.send(.post, to: .init(), body: Body(Data("hello".utf8)))
        for request in try await bench.waitForRequests(2) {
            let names = Set(request.fields.lines.map { $0.name.lowercased() })
            let added = names.subtracting(["host", "content-length", "transfer-encoding", "connection"])
            try expect(added, is: [], "added fields")
            try expect(request.fields["Host"], is: "127.0.0.1:\(bench.origin.port)", "Host field")
        }
    }

    /// The metadata says which URL answered, with the fragment that is not sent (RFC 9110, section 4.2.5).
    package static let metadata = TransportCase("metadata") { bench in
        bench.origin.enqueue(.init())
        var request = try bench.request(.get, "/a?b=c")
        request.options.fragment = "part"
        let metadata = try await bench.connection.send(request).metadata
        try expect(bench.origin.requests.map(\.target), is: ["/a?b=c"], "target")
        try expect(metadata.url?.absoluteString, is: bench.url + "/a?b=c#part", "URL")
        try expect(metadata.source, is: .network, "source")
    }

    /// A value with a line break must not become two fields (RFC 9110, section 5.5).
    package static let lineBreaks = TransportCase("lineBreaks") { bench in
        let fields: RawFields = ["X-A": "1\r\nX-Evil: 2\nX-Worse: 3\rX-Worst: 4"]
        _ = try await bench.send(to: .init(), fields: HTTPFields(fields))
        let names = bench.origin.requests.last?.fields.lines.map { $0.name.lowercased() } ?? []
        try expect(names.filter { !["host", "connection"].contains($0) }, is: ["x-a"], "names")
    }

    /// A target arrives as it was given: its percent-encoding, its slashes and an empty query may mean something.
    package static let targets = sending(
        "targets",
        targets: [
            "/", "/a/b.c;d=e,f", "/a%2Fb%20c?d=%26&e=+", "/a%2fb", "/?", "//a", "/~!$&'()*+,;=:@", "/?a=b?c/d",
            "/" + String(repeating: "x", count: 4000),
        ])

    /// A target that a URL library would correct also arrives as it was given.
    package static let oddTargets = sending(
        "oddTargets", targets: ["/a/../b/./c", "/a%zz", "/%", "/a|b", "/a\"b", "/{a}"])

    /// A method may have any name, also one that the transport does not know.
    package static let methods = sending(
        "methods",
        methods: ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "PURGE", "M-SEARCH"])

    /// A method's letters have a case (RFC 9110, section 9.1).
    package static let methodCase = sending("methodCase", methods: ["get", "Post", "pURGE"])

    private static func sending(
        _ name: String, targets: [String] = ["/"], methods: [String] = ["GET"]
    ) -> TransportCase {
        TransportCase(name) { bench in
            let methods = methods.compactMap { HTTPRequest.Method($0) }
            for method in methods {
                for target in targets {
                    bench.origin.enqueue(.init(body: "x"))
                    var request = try bench.request(method)
                    request.head.path = target
                    request.options.fragment = "part"
                    _ = try await bench.connection.send(request).body.collectAll()
                }
            }
            let sent = methods.flatMap { Array(repeating: $0, count: targets.count) }
            try expect(bench.origin.requests.map(\.method), is: sent, "methods")
            try expect(bench.origin.requests.map(\.target), is: methods.flatMap { _ in targets }, "targets")
        }
    }

    /// The values of a response's fields reach the caller, repeats at least as a list.
    package static let responseFields = TransportCase("responseFields") { bench in
        let fields: RawFields = [
            "ETag": #""1""#, "Vary": "A", "X-Text": "naïve", "Vary": "B", "X-Empty": "",
            "X-Comma": "a, b", "!#$%&'*+-.^_`|~09": "odd",
        ]
        let received = try await bench.send(to: .init(fields: fields)).head.headerFields
        for line in fields.lines {
            try expect(RawFields(received)[line.name], is: fields[line.name], "field \(line.name)")
        }
    }

    /// The lines of a response reach the caller as they were: their number, their order, the case of their names.
    package static let responseLines = TransportCase("responseLines") { bench in
        let fields: RawFields = [
            "X-B": "1", "etag": #""1""#, "VARY": "A", "X-a": "2", "vary": "B", "Vary": "C", "X-B": "3",
            "Content-Length": "0",
        ]
        let received = try await bench.send(to: .init(fields: fields)).head.headerFields
        try expect(RawFields(received), is: fields, "field lines")
    }

    /// `Set-Cookie` cannot be joined (RFC 9110, section 5.3).
    package static let setCookies = TransportCase("setCookies") { bench in
        let cookies = [
            "a=1; Expires=Thu, 01 Jan 2037 00:00:00 GMT; Path=/", #"b="x, y""#, "c=3", "a=1; Path=/other",
        ]
        let response = try await bench.send(
            to: .init(fields: RawFields(cookies.map { .init(name: "Set-Cookie", value: $0) })))
        try expect(response.head.headerFields[values: .setCookie], is: cookies, "cookies")
    }

    /// Fields are bytes: those beyond ASCII that are no UTF-8 neither fail a response nor get lost.
    package static let oddBytes = TransportCase("oddBytes") { bench in
        let value = Data([0x6E, 0x61, 0xEF, 0x76, 0x65, 0xFF, 0x80])
        let head = Data("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nServer: ".utf8) + value + Data("\r\n\r\n".utf8)
        let response = try await bench.send(to: .script(.raw(head)))
        let field = response.head.headerFields.first { $0.name == .server }
        let bytes = unsafe field?.withUnsafeBytesOfValue { unsafe Data($0) }
        try expect(bytes, is: value, "bytes")
    }

    /// The reason phrase reaches the caller; nothing depends on it.
    package static let reasonPhrases = TransportCase("reasonPhrases") { bench in
        let response = try await bench.send(to: .init(.init(code: 200, reasonPhrase: "As you like it")))
        try expect(response.status.reasonPhrase, is: "As you like it", "reason phrase")
    }

    /// An invalid request is refused before a byte is sent; a line break in a target would be a second request.
    package static let invalidRequests = TransportCase("invalidRequests") { bench in
        let valid = try bench.request().head
        let changes: [(String, (inout HTTPRequest) -> Void)] = [
            ("no scheme", { $0.scheme = nil }), ("no authority", { $0.authority = nil }),
            ("the scheme ftp", { $0.scheme = "ftp" }), ("a path without a slash", { $0.path = "a" }),
            ("no path", { $0.path = nil }), ("a blank in the path", { $0.path = "/a b" }),
            ("a line break in the path", { $0.path = "/ HTTP/1.1\r\nX: y" }),
            ("a letter beyond ASCII", { $0.path = "/ä" }),
            ("userinfo", { $0.authority = "a:b@" + ($0.authority ?? "") }),
            ("a line break in the host", { $0.authority = "127.0.0.1\r\nX: y" }),
            ("a blank in the host", { $0.authority = "exa mple.com" }),
            ("an empty host", { $0.authority = "" }), ("a port without a host", { $0.authority = ":80" }),
            ("a port that is too large", { $0.authority = "127.0.0.1:99999" }),
        ]
        for (what, change) in changes {
            var head = valid
            change(&head)
            try await expectError(InvalidRequestError.self, in: "for \(what)") { [head] in
                _ = try await bench.connection.send(Request(head: head))
            }
        }
        try expect(bench.origin.connectionCount, is: 0, "connections")
    }

    /// Layers that share or store responses learn from `SentRequests` what was sent, with the fields that a transport adds.
    package static let reportedRequests = TransportCase("reportedRequests") { bench in
        for method in [HTTPRequest.Method.get, .head, .post] {
            var request = try bench.request(
                method, "/page", fields: [.accept: "text/plain"], body: method == .post ? "hello" : .empty)
            bench.origin.enqueue("page")
            let sent = request.collectSent()
            _ = try await bench.connection.send(request).body.data(upTo: 100)
            try expect(sent.difference == nil, "a report of \(method), got \(sent.difference?.description ?? "")")
        }
    }

    /// A transport that sends a request again by itself declares how often; any other transport declares one sending.
    package static let declaredSending = TransportCase.ofSubject("declaredSending") { subject in
        var most = 1
        var layer = Layer(name: "")
        for method in [HTTPRequest.Method.get, .delete, .post] {
            let bench = try await subject.bench()
            layer = bench.connection.layers.last ?? layer
            _ = try await bench.content(of: .init(body: "ok"))
            // Reads the request on the pooled connection and closes it, as a server that is restarted does.
            bench.origin.enqueue(.closing)
            bench.origin.route(nil, "/once", .init(body: "second"))
            let request = try bench.request(method, "/once")
            _ = try? await withDeadline(of: .seconds(10)) {
                try await bench.connection.send(request).body.drain(upTo: 100)
            }
            most = max(most, bench.origin.requests.count { $0.path == "/once" })
        }
        try expect(layer.sending.times.contains(most), "\(layer.sending.times) sendings, got \(most)")
        try expect(most > 1 || layer.sending.times.upperBound <= 1, "\(layer.sending.times) sendings, got \(most)")
    }

    /// A transport that undoes content codings declares it, and one that does not declares nothing.
    package static let declaredDecoding = TransportCase("declaredDecoding") { bench in
        let answer = LoopbackOrigin.Answer(fields: ["Content-Encoding": "gzip"], body: Data.gzippedHello)
        let isDecoded = try await bench.send(to: answer, fields: [.acceptEncoding: "gzip"]).text() == "hello"
        try expect(bench.connection.layers.last?.facts.contains(.decodesContent), is: isDecoded, "decodesContent")
    }

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
