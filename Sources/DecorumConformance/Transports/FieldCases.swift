import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension TransportCase {
    /// Targets, methods, fields and reason phrases, as they are.
    public static let fields: [TransportCase] = [
        .requestFields, .requestLines, .addedFields, .lineBreaks, .targets, .oddTargets, .metadata, .methods,
        .methodCase, .responseFields, .responseLines, .setCookies, .oddBytes, .reasonPhrases, .invalidRequests,
    ]

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
        let value: [UInt8] = [0x6E, 0x61, 0xEF, 0x76, 0x65, 0xFF, 0x80]
        let head = Data("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nServer: ".utf8) + value + Data("\r\n\r\n".utf8)
        let response = try await bench.send(to: .script(.raw(head)))
        let field = response.head.headerFields.first { $0.name == .server }
        let bytes = unsafe field?.withUnsafeBytesOfValue { unsafe Array($0) }
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
}

extension TransportCase {
    /// How layers learn what is sent.
    public static let reports: [TransportCase] = [.reportedRequests]

    /// Layers that share or store responses need to know what was sent: see `SentRequests`.
    ///
    /// A transport that adds fields, such as an app's defaults, adds them before it reports the request.
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
}

extension TransportCase {
    /// The declarations of a transport's layer, held against its behaviour in both directions.
    public static let declarations: [TransportCase] = [.declaredSending, .declaredDecoding]

    /// A transport that sends a request again by itself declares how often; any other transport declares that it sends
    /// once.
    ///
    /// The bounds of a stack are computed from this number.
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
}
