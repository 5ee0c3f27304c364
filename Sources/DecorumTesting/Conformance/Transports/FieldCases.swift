import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// Targets, methods, fields and reason phrases, as they are.
    public static let fields: [TransportCase] = [
        .requestFields, .requestLines, .addedFields, .lineBreaks, .targets, .oddTargets, .metadata, .methods,
        .methodCase, .responseFields, .responseLines, .setCookies, .oddBytes, .reasonPhrases, .invalidRequests,
    ]

    private static let sentFields: HTTPFields = {
        var fields = HTTPFields()
        for (name, value) in [
            ("X-One", "1"), ("Accept", "text/plain"), ("X-Repeated", "a"), ("x-lower", "b"), ("X-Repeated", "c"),
            ("X-Text", "naïve"), ("!#$%&'*+-.^_`|~09", "odd"), ("X-Long", String(repeating: "x", count: 8 << 10)),
        ] {
            guard let name = HTTPField.Name(name) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }()

    /// The values of a request's fields arrive, repeats at least as a list.
    public static let requestFields = TransportCase(
        "requestFields", "Every field of a request arrives, repeats at least as a list."
    ) { subject in
        let bench = try await subject.bench()
        _ = try await bench.send(to: .init(), fields: sentFields)
        let received = try await bench.waitForRequests(1)[0].fields
        for field in sentFields {
            let values = received.values(of: field.name.rawName).joined(separator: ",").filter { $0 != " " }
            let expected = sentFields[values: field.name].joined(separator: ",").filter { $0 != " " }
            try requireEqual(values, expected, "The field \(field.name)")
        }
    }

    /// The lines of a request arrive as they were: their number, their order, the case of their names, empty ones.
    public static let requestLines = TransportCase(
        "requestLines",
        "The field lines of a request arrive in their order and spelling, repeats and empty ones too."
    ) { subject in
        let bench = try await subject.bench()
        var fields = sentFields
        if let name = HTTPField.Name("X-Empty") { fields.append(HTTPField(name: name, value: "")) }
        _ = try await bench.send(to: .init(), fields: fields)
        let received = try await bench.waitForRequests(1)[0].fields.lines
        let names = Set(fields.map { $0.name.rawName })
        try requireEqual(
            received.filter { names.contains($0.name) }, RawFields(fields).lines, "The field lines that arrived")
    }

    /// A transport adds what HTTP needs and no more: every other field is a layer's decision.
    public static let addedFields = TransportCase(
        "addedFields", "A request carries no field that its caller did not set but Host, Connection and the framing."
    ) { subject in
        let bench = try await subject.bench()
        _ = try await bench.send(to: .init())
        _ = try await bench.send(.post, to: .init(), body: Body(Data("hello".utf8)))
        for request in try await bench.waitForRequests(2) {
            let names = Set(request.fields.lines.map { $0.name.lowercased() })
            let added = names.subtracting(["host", "content-length", "transfer-encoding", "connection"])
            try require(added.isEmpty, "The transport adds \(added.sorted()) to \(request.method).")
            try requireEqual(request.fields["Host"], "127.0.0.1:\(bench.origin.port)", "The Host field")
        }
    }

    /// The metadata says which URL answered, with the fragment that is not sent (RFC 9110, section 4.2.5).
    public static let metadata = TransportCase(
        "metadata", "A response comes from the network, and has the URL of its request with the fragment."
    ) { subject in
        let bench = try await subject.bench()
        bench.origin.enqueue(.init())
        var request = try bench.request(.get, "/a?b=c")
        request.options.fragment = "part"
        let metadata = try await bench.connection.send(request).metadata
        try requireEqual(bench.origin.requests.map(\.target), ["/a?b=c"], "The target")
        try requireEqual(metadata.url?.absoluteString, bench.url + "/a?b=c#part", "The URL in the metadata")
        try requireEqual(metadata.source, .network, "The source in the metadata")
    }

    /// A value with a line break must not become two fields (RFC 9110, section 5.5).
    public static let lineBreaks = TransportCase(
        "lineBreaks", "A line break in a value adds no field to the request."
    ) { subject in
        let bench = try await subject.bench()
        guard let name = HTTPField.Name("X-A") else { return }
        let fields: HTTPFields = [name: "1\r\nX-Evil: 2\nX-Worse: 3\rX-Worst: 4"]
        _ = try await bench.send(to: .init(), fields: fields)
        let names = bench.origin.requests.last?.fields.lines.map { $0.name.lowercased() } ?? []
        try requireEqual(names.filter { !["host", "connection"].contains($0) }, ["x-a"], "The names of the fields")
    }

    /// A target arrives as it was given: its percent-encoding, its slashes and an empty query may mean something.
    public static let targets = TransportCase(
        "targets", "The target of a request arrives as it is, without the fragment."
    ) { subject in
        try await requireTargets(
            [
                "/", "/a/b.c;d=e,f", "/a%2Fb%20c?d=%26&e=+", "/a%2fb", "/?", "//a", "/~!$&'()*+,;=:@", "/?a=b?c/d",
                "/" + String(repeating: "x", count: 4000),
            ], in: subject)
    }

    /// A target that a URL library would correct also arrives as it was given.
    public static let oddTargets = TransportCase(
        "oddTargets", "A target with dot segments, or with a percent sign that encodes nothing, arrives as it is."
    ) { subject in
        try await requireTargets(["/a/../b/./c", "/a%zz", "/%", "/a|b", "/a\"b", "/{a}"], in: subject)
    }

    private static func requireTargets(_ targets: [String], in subject: TransportSubject) async throws {
        let bench = try await subject.bench()
        for target in targets {
            bench.origin.enqueue(.init())
            var request = try bench.request()
            request.head.path = target
            request.options.fragment = "part"
            _ = try await bench.connection.send(request)
        }
        try requireEqual(bench.origin.requests.map(\.target), targets, "The targets")
    }

    /// A method may have any name, also one that the transport does not know.
    public static let methods = TransportCase(
        "methods", "Every method arrives, the unknown ones too."
    ) { subject in
        try await requireMethods(
            ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "PURGE", "M-SEARCH"], in: subject)
    }

    /// A method's letters have a case (RFC 9110, section 9.1).
    public static let methodCase = TransportCase(
        "methodCase", "A method arrives in the letter case in which it was given."
    ) { subject in
        try await requireMethods(["get", "Post", "pURGE"], in: subject)
    }

    private static func requireMethods(_ names: [String], in subject: TransportSubject) async throws {
        let bench = try await subject.bench()
        let methods = names.compactMap { HTTPRequest.Method($0) }
        for method in methods {
            _ = try await bench.send(method, to: .init(body: "x")).body.collectAll()
        }
        try requireEqual(bench.origin.requests.map(\.method), methods, "The methods")
    }

    /// The values of a response's fields reach the caller, repeats at least as a list.
    public static let responseFields = TransportCase(
        "responseFields", "Every field of a response reaches the caller, repeats at least as a list."
    ) { subject in
        let bench = try await subject.bench()
        let fields: RawFields = [
            "ETag": #""1""#, "Vary": "A", "X-Text": "naïve", "Vary": "B", "X-Empty": "",
            "X-Comma": "a, b", "!#$%&'*+-.^_`|~09": "odd",
        ]
        let received = try await bench.send(to: .init(fields: fields)).head.headerFields
        for (name, value) in [
            ("ETag", #""1""#), ("Vary", "A, B"), ("X-Text", "naïve"), ("X-Empty", ""), ("X-Comma", "a, b"),
            ("!#$%&'*+-.^_`|~09", "odd"),
        ] {
            guard let name = HTTPField.Name(name) else { continue }
            try requireEqual(received[name], value, "The field \(name)")
        }
    }

    /// The lines of a response reach the caller as they were: their number, their order, the case of their names.
    public static let responseLines = TransportCase(
        "responseLines", "The field lines of a response reach the caller in their order and spelling."
    ) { subject in
        let bench = try await subject.bench()
        let fields: RawFields = [
            "X-B": "1", "etag": #""1""#, "VARY": "A", "X-a": "2", "vary": "B", "Vary": "C", "X-B": "3",
            "Content-Length": "0",
        ]
        let received = try await bench.send(to: .init(fields: fields)).head.headerFields
        try requireEqual(RawFields(received), fields, "The field lines")
    }

    /// `Set-Cookie` cannot be joined (RFC 9110, section 5.3).
    public static let setCookies = TransportCase(
        "setCookies", "Each Set-Cookie line reaches the caller as a separate field, in order."
    ) { subject in
        let bench = try await subject.bench()
        let cookies = [
            "a=1; Expires=Thu, 01 Jan 2037 00:00:00 GMT; Path=/", #"b="x, y""#, "c=3", "a=1; Path=/other",
        ]
        let response = try await bench.send(
            to: .init(fields: RawFields(cookies.map { .init(name: "Set-Cookie", value: $0) })))
        try requireEqual(response.head.headerFields[values: .setCookie], cookies, "The cookies")
    }

    /// Fields are bytes: those beyond ASCII that are no UTF-8 neither fail a response nor get lost.
    public static let oddBytes = TransportCase(
        "oddBytes", "A field's bytes beyond ASCII reach the caller as they are, whatever they mean."
    ) { subject in
        let bench = try await subject.bench()
        let value: [UInt8] = [0x6E, 0x61, 0xEF, 0x76, 0x65, 0xFF, 0x80]
        let head = Data("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nServer: ".utf8) + value + Data("\r\n\r\n".utf8)
        let response = try await bench.send(to: .script(.raw(head)))
        let field = response.head.headerFields.first { $0.name == .server }
        let bytes = unsafe field?.withUnsafeBytesOfValue { unsafe Array($0) }
        try requireEqual(bytes, value, "The bytes of the value")
    }

    /// The reason phrase reaches the caller; nothing depends on it.
    public static let reasonPhrases = TransportCase(
        "reasonPhrases", "The reason phrase reaches the caller."
    ) { subject in
        let bench = try await subject.bench()
        let response = try await bench.send(to: .init(.init(code: 200, reasonPhrase: "As you like it")))
        try requireEqual(response.status.reasonPhrase, "As you like it", "The reason phrase")
    }

    /// An invalid request is refused before a byte is sent; a line break in a target would be a second request.
    public static let invalidRequests = TransportCase(
        "invalidRequests", "A request that cannot be sent is refused before anything is sent."
    ) { subject in
        let bench = try await subject.bench()
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
            do {
                _ = try await bench.connection.send(Request(head: head))
            } catch is InvalidRequestError {
                continue
            } catch {
                throw ConformanceFailure("A request with \(what) throws \(type(of: error)): \(error)")
            }
            throw ConformanceFailure("A request with \(what) was sent.")
        }
        try requireEqual(bench.origin.connectionCount, 0, "The number of connections")
    }
}
