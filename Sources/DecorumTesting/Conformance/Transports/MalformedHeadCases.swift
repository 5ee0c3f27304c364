import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// Heads that break the rules of HTTP.
    public static let malformed: [TransportCase] = [
        .malformedHeads, .lowStatus, .unusualHeads, .foldedFields, .terseHeads, .cutHead, .noHead, .largeFields,
        .refusedConnection, .unknownHost,
    ]

    /// Bytes that are not HTTP are an error, not a response.
    public static let malformedHeads = TransportCase(
        "malformedHeads", "An answer that is not HTTP, or breaks its rules, fails as malformed before the head."
    ) { subject in
        let bench = try await subject.bench()
        for answer in [
            "SSH-2.0-OpenSSH\r\nabc\r\n\r\n", "hello\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n",
            "HTTP/4.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 0\r\n\r\n",
        ] {
            try await requireTransportError(of: [.malformedResponse], at: .head, answer.debugDescription) {
                _ = try await bench.content(ofRaw: answer)
            }
        }
        try await bench.requireUsable(after: "malformed heads")
    }

    /// A status has three digits, of which the first is one of five (RFC 9110, section 15).
    public static let lowStatus = TransportCase(
        "lowStatus", "An answer with a status below 100 fails as malformed before the head."
    ) { subject in
        let bench = try await subject.bench()
        try await requireTransportError(of: [.malformedResponse], at: .head, "The status 099") {
            _ = try await bench.content(ofRaw: "HTTP/1.1 099 OK\r\n\r\n")
        }
        try await bench.requireUsable(after: "a status below 100")
    }

    /// A head that is odd but allowed, or harmless and common, is a response.
    public static let unusualHeads = TransportCase(
        "unusualHeads", "Odd heads that are common or allowed make responses."
    ) { subject in
        let bench = try await subject.bench()
        // The next request cannot meet the connection while it is about to close.
        let rest = "Connection: close\r\nContent-Length: 5\r\n\r\nhello"
        for head in [
            "HTTP/1.0 200 OK\r\n", "HTTP/1.1 200 \r\n", "HTTP/1.1 999 Odd\r\n",
            "HTTP/1.1 200 OK\r\nX-Empty:\r\n", "HTTP/1.1 200 OK\r\nX-Blank: \t a \t\r\n",
        ] {
            try requireEqual(try await bench.content(ofRaw: head + rest), "hello", head.debugDescription)
        }
    }

    /// A field that goes on in a second line is one field (RFC 9112, section 5.2).
    public static let foldedFields = TransportCase(
        "foldedFields", "A response with a field that is folded over two lines is a response."
    ) { subject in
        let bench = try await subject.bench()
        let answer = "HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\nContent-Length: 5\r\n\r\nhello"
        try requireEqual(try await bench.content(ofRaw: answer), "hello", "The content")
    }

    /// Heads that lack blanks or carriage returns, which a recipient must or may accept (RFC 9112, sections 2.2, 4 and
    /// 5).
    public static let terseHeads = TransportCase(
        "terseHeads", "Heads with bare line feeds, no blank behind a colon, or no reason phrase make responses."
    ) { subject in
        let bench = try await subject.bench()
        for answer in [
            "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", "HTTP/1.1 200 OK\r\nContent-Length:5\r\n\r\nhello",
            "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
        ] {
            try requireEqual(try await bench.content(ofRaw: answer), "hello", answer.debugDescription)
        }
    }

    /// A head that is cut is an error, not an empty response.
    public static let cutHead = TransportCase(
        "cutHead", "A connection that ends within the head makes an error."
    ) { subject in
        let bench = try await subject.bench()
        for answer in ["H", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"] {
            try await requireTransportError(at: .head, "A head cut behind \(answer.debugDescription)") {
                _ = try await bench.content(ofRaw: answer)
            }
        }
        try await bench.requireUsable(after: "a cut head")
    }

    /// A connection that breaks without a byte says so, so that a layer above may try again.
    public static let noHead = TransportCase(
        "noHead", "A connection that is closed or reset before the first byte fails as lost, before the head."
    ) { subject in
        let bench = try await subject.bench()
        for answer in [LoopbackOrigin.Answer.closing, .resetting] {
            try await requireTransportError(of: [.connectionLost], at: .head, "An answer without a byte") {
                // On a new connection, where there is no doubt about whether the request was read.
                try await bench.origin.waitForOpenConnections(0)
                _ = try await bench.send(.post, to: answer, body: "hello")
            }
        }
        try await bench.origin.waitForOpenConnections(0)
        let gate = Gate()
        let response = try await bench.send(
            to: .script(.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal"), .wait(gate), .reset))
        var reader = try await response.body.open()
        try requireEqual(try await reader.next(), Data("hal".utf8), "The first chunk")
        // A reset destroys what has arrived and was not read yet.
        gate.open()
        try await requireTransportError(of: [.connectionLost, .truncated], at: .body, "A reset within the body") {
            _ = try await reader.next()
        }
    }

    /// Fields of some size pass; without a bound, a server could fill the memory.
    public static let largeFields = TransportCase(
        "largeFields", "A field of 32 KiB arrives; one of 8 MiB arrives or makes an error before the head."
    ) { subject in
        let bench = try await subject.bench()
        let value = String(repeating: "x", count: 32 << 10)
        let response = try await bench.send(to: .init(fields: ["Server": value]))
        try require(response.head.headerFields[.server] == value, "A field of 32 KiB did not arrive as it was sent.")
        let huge = String(repeating: "x", count: 8 << 20)
        do {
            let response = try await bench.send(to: .init(fields: ["Server": huge]))
            try require(response.head.headerFields[.server] == huge, "A field of 8 MiB was changed.")
        } catch let error as TransportError {
            try requireEqual(error.stage, .head, "The stage at which a field of 8 MiB fails")
        }
    }

    /// A port without a server has its own code, at the stage of connecting.
    public static let refusedConnection = TransportCase(
        "refusedConnection", "A refused connection fails as such, at the stage of connecting."
    ) { subject in
        let origin = try LoopbackOrigin.refusing()
        let connection = try subject.make(SystemClock())
        try await requireTransportError(of: [.connectionRefused], at: .connecting, "A refused connection") {
            _ = try await connection.send(.post(origin.url + "/", body: "hello"))
        }
    }

    /// A name without an address has its own code, at the stage of connecting.
    public static let unknownHost = TransportCase(
        "unknownHost", "A host without an address fails as such, at the stage of connecting."
    ) { subject in
        let connection = try subject.make(SystemClock())
        try await requireTransportError(of: [.hostNotFound], at: .connecting, "A host without an address") {
            _ = try await connection.send(.get("http://conformance.invalid/"))
        }
    }
}
