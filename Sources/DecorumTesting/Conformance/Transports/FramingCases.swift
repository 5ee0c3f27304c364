import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// Where content ends: lengths, chunks, and content that is cut short.
    public static let framing: [TransportCase] = [
        .fixedLength, .chunked, .untilClose, .chunkedAndLength, .conflictingLengths, .truncatedLength,
        .truncatedChunks, .truncatedPrefix, .brokenChunks, .noContent, .head, .excessBytes,
    ]

    /// Content ends where `Content-Length` says, and the body knows its length or says that it does not.
    public static let fixedLength = TransportCase(
        "fixedLength", "Content ends where Content-Length says."
    ) { subject in
        let bench = try await subject.bench()
        for count in [0, 1, 100_000] {
            let response = try await bench.send(to: .generated(count: Int64(count)))
            let length = response.body.length
            try require(length == nil || length == Int64(count), "The body claims \(String(describing: length)) bytes.")
            try requireEqual(try await response.body.countPattern(), Int64(count), "The number of bytes")
        }
        do {
            // A recipient may refuse such a response too (RFC 9110, section 8.6).
            let lengths = "Content-Length: 5\r\nContent-Length: 5\r\n"
            let text = try await bench.content(ofRaw: "HTTP/1.1 200 OK\r\n\(lengths)\r\nhello")
            try requireEqual(text, "hello", "Content whose length is repeated")
        } catch let error as TransportError {
            try requireEqual(error.code, .malformedResponse, "The code for a repeated length")
        }
    }

    /// The chunked coding is undone, with chunk extensions, and with no chunk but the last.
    public static let chunked = TransportCase("chunked", "The chunked coding is undone.") { subject in
        let bench = try await subject.bench()
        try requireEqual(
            try await bench.content(of: .chunked(chunks: ["a", "bc", String(repeating: "d", count: 5000)])),
            "abc" + String(repeating: "d", count: 5000), "The content of three chunks")
        try requireEqual(try await bench.content(of: .chunked(chunks: [String]())), "", "The content of no chunk")
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        for body in [
            "5;x=y\r\nhello\r\n0\r\n\r\n", "0005\r\nhello\r\n00\r\n\r\n", "2\r\nhe\r\n3;a\r\nllo\r\n0;b\r\n\r\n",
        ] {
            try requireEqual(try await bench.content(ofRaw: head + body), "hello", "The content of \(body)")
        }
        let response = try await bench.send(to: .generated(count: 1 << 20, chunked: true))
        try requireEqual(try await response.body.countPattern(), 1 << 20, "The number of bytes in large chunks")
    }

    /// Content without a length and a coding ends where the connection does.
    public static let untilClose = TransportCase(
        "untilClose", "Content without a length ends where the connection does."
    ) { subject in
        let bench = try await subject.bench()
        try requireEqual(try await bench.content(of: .untilClose(body: "hello")), "hello", "The content")
        try requireEqual(try await bench.content(of: .untilClose(body: "")), "", "Empty content")
        try await bench.requireUsable(after: "a connection that ended with its content")
    }

    /// `Transfer-Encoding` overrides `Content-Length`, unless the response is refused (RFC 9112, section 6.3).
    public static let chunkedAndLength = TransportCase(
        "chunkedAndLength", "Chunked content with a length is read by its chunks, or refused."
    ) { subject in
        let bench = try await subject.bench()
        for length in [2, 9] {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\nTransfer-Encoding: chunked\r\n\r\n"
            do {
                let text = try await bench.content(ofRaw: head + "5\r\nhello\r\n0\r\n\r\n")
                try requireEqual(text, "hello", "Content with both")
            } catch let error as TransportError {
                try requireEqual(error.code, .malformedResponse, "The code for both")
            }
        }
    }

    /// Lengths that contradict each other, or are none, make no response; that of an interim response, which has no content,
    /// contradicts nothing (RFC 9112, section 6.3).
    public static let conflictingLengths = TransportCase(
        "conflictingLengths",
        "A response with two lengths, or one that is no number, is refused; one behind a 1xx with the length 0 is not."
    ) { subject in
        let bench = try await subject.bench()
        for fields in ["Content-Length: 3\r\nContent-Length: 4", "Content-Length: x", "Content-Length: -1"] {
            try await requireTransportError(of: [.malformedResponse], "A response with \(fields.debugDescription)") {
                _ = try await bench.content(ofRaw: "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nabcd")
            }
        }
        let interim = "HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n"
        for rest in [
            "Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "\r\nhello",
        ] {
            let text = try await bench.content(ofRaw: "\(interim)HTTP/1.1 200 OK\r\n\(rest)")
            try requireEqual(text, "hello", "The content after a 100 with the length 0")
        }
    }

    /// Content that is shorter than its length is an error; what is there is given before.
    public static let truncatedLength = TransportCase(
        "truncatedLength", "Content that ends before its length fails as truncated, within the body."
    ) { subject in
        let bench = try await subject.bench()
        for content in ["", "h", "hell"] {
            try await requireTransportError(of: [.truncated], at: .body, "Content cut behind “\(content)”") {
                _ = try await bench.content(ofRaw: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + content)
            }
        }
    }

    /// Chunked content without its last chunk is an error.
    public static let truncatedChunks = TransportCase(
        "truncatedChunks", "Chunked content that ends before its last chunk fails as truncated, within the body."
    ) { subject in
        let bench = try await subject.bench()
        for body in ["", "5", "5\r\n", "5\r\nhel", "5\r\nhello", "5\r\nhello\r\n", "5\r\nhello\r\n0"] {
            try await requireTransportError(of: [.truncated], at: .body, "Chunks cut behind \(body.debugDescription)") {
                _ = try await bench.content(
                    ofRaw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
            }
        }
    }

    /// The bytes before a cut reach the reader before the error does, and the error stays.
    public static let truncatedPrefix = TransportCase(
        "truncatedPrefix", "What arrived of content that is cut reaches the reader before the error."
    ) { subject in
        let bench = try await subject.bench()
        let response = try await bench.send(
            to: .script(.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal"), .close))
        var reader = try await response.body.open()
        try requireEqual(try await reader.next(), Data("hal".utf8), "The first chunk")
        for _ in 0..<2 {
            try await requireTransportError(at: .body, "The rest") { _ = try await reader.next() }
        }
    }

    /// A size of a chunk that is no number makes the rest unreadable.
    public static let brokenChunks = TransportCase(
        "brokenChunks", "A chunk whose size is no number fails as malformed, within the body."
    ) { subject in
        let bench = try await subject.bench()
        for size in ["zz", "-5", "0x5", "fffffffffffffffff"] {
            try await requireTransportError(
                of: [.malformedResponse, .truncated], at: .body, "A chunk of the size “\(size)”"
            ) {
                _ = try await bench.content(
                    ofRaw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\nhello\r\n0\r\n\r\n")
            }
        }
    }

    /// 204 and 304 have no content, whatever their fields say (RFC 9112, section 6.3).
    public static let noContent = TransportCase(
        "noContent", "A 204 and a 304 have no content, whatever their length says, and keep their fields."
    ) { subject in
        let bench = try await subject.bench()
        for code in [204, 304] {
            for field in [("Content-Length", "5"), ("Transfer-Encoding", "chunked"), ("Content-Encoding", "gzip")] {
                let fields = RawFields([.init(name: field.0, value: field.1)])
                let response = try await bench.send(to: .script(.head(.init(code: code), fields)))
                try requireEqual(response.status.code, code, "The status")
                try requireEqual(try await response.body.collectAll().data, Data(), "The content of a \(code)")
            }
            try await bench.requireUsable(after: "a \(code) with the fields of content")
        }
    }

    /// A response to `HEAD` has the fields of content that is not there.
    public static let head = TransportCase(
        "head", "A response to HEAD has no content, and the fields that describe the content of GET."
    ) { subject in
        let bench = try await subject.bench()
        let fields: RawFields = ["Content-Encoding": "gzip", "Content-Length": "1234", "ETag": #""1""#]
        let response = try await bench.send(.head, to: .script(.head(.ok, fields)))
        try requireEqual(response.head.headerFields[.contentLength], "1234", "The length that GET would have")
        try requireEqual(response.head.headerFields[.contentEncoding], "gzip", "The coding that GET would have")
        try requireEqual(response.metadata.decodedContentCodings, [], "The codings that were undone")
        try requireEqual(try await response.body.collectAll().data, Data(), "The content")
        try await bench.requireUsable(after: "a HEAD")
        try requireEqual(bench.origin.connectionCount, 1, "The number of connections")
    }

    /// Bytes that follow a response are not the response to the next request.
    public static let excessBytes = TransportCase(
        "excessBytes", "Bytes behind a response are never taken for the response to another request."
    ) { subject in
        for _ in 0..<5 {
            let bench = try await subject.bench()
            let text = try await bench.content(
                of: .script(
                    .raw(
                        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
                    )))
            try requireEqual(text, "hello", "The content")
            do {
                try await bench.requireUsable(after: "excess bytes")
            } catch let error as TransportError {
                // The connection may be used again before the bytes have come.
                try requireEqual(error.code, .connectionLost, "The code behind excess bytes")
            }
        }
    }
}
