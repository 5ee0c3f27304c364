#if os(Linux)
import DecorumCurl
import Foundation
import HTTPTypes

/// The head of a request in the form that libcurl takes.
struct CurlRequestHead: Sendable {
    let method: String
    let url: String
    /// The server, by which connections are counted.
    let host: CurlHost
    /// The target; nil for the path of the URL.
    let target: String?
    let fields: CurlList
    let proxies: CurlProxies
    /// The options of the proxy, if it depends on the request.
    let proxyOptions: [CurlOptions.Option]
    let routeName: String?

    /// Converts the head of a request, which was validated.
    init(
        _ request: borrowing Request, _ library: CurlLibrary, through proxies: CurlProxies = CurlProxies()
    ) throws(InvalidRequestError) {
        self.proxies = proxies
        proxyOptions = try proxies.options(for: request.head)
        routeName = request.options.routeName
        let head = request.head
        let path = head.path ?? "/"
        guard !path.utf8.contains(UInt8(ascii: "#")) else { throw .invalidURL }
        guard request.body.isEmpty || head.method != .head else {
            throw InvalidRequestError(.invalidBody, "libcurl cannot send content with HEAD; use another method.")
        }
        method = head.method.rawValue
        // RFC 9112, section 3.2.4.
        target = path == "*" ? path : nil
        let isSecure = head.scheme == "https" || head.scheme?.lowercased() == "https"
        host = CurlHost(isSecure: isSecure, authority: head.authority ?? "")
        url = "\(head.scheme ?? "")://\(head.authority ?? "")\(path == "*" ? "/" : path)"
        fields = CurlList(library)
        append(head.headerFields, announcing: Self.announcement(of: request.body, head.method))
    }

    var isSecure: Bool { host.isSecure }

    /// The proxy that the request is to be sent through; nil for a direct connection.
    var proxyAddress: CurlProxyAddress? {
        (try? Origin(Target(url))).flatMap { proxies.proxy(for: $0)?.address }
    }

    // Longer ones make the array grow.
    private static let usualLineSize = 128

    private func append(_ headerFields: HTTPFields, announcing announcement: HTTPField?) {
        var announcement = announcement
        var acceptsNothing = true
        var expectsNothing = true
        var line: [UInt8] = []
        line.reserveCapacity(Self.usualLineSize)
        for field in headerFields {
            // The length of a name is compared first: most fields have another one.
            let nameLength = field.name.rawName.utf8.count
            if nameLength == 14 || nameLength == 17, field.name == .contentLength || field.name == .transferEncoding {
                // A length or coding that contradicts the content would allow request smuggling (RFC 9112, section 6.3).
                if let announcement { fields.append(announcement, using: &line) }
                announcement = nil
                continue
            }
            if nameLength == 6 {
                acceptsNothing = acceptsNothing && field.name != .accept
                expectsNothing = expectsNothing && field.name != .expect
            }
            fields.append(field, using: &line)
        }
        if let announcement { fields.append(announcement, using: &line) }
        // For a name without a value, libcurl does not add its default field.
        if acceptsNothing { fields.append("Accept:") }
        if expectsNothing { fields.append("Expect:") }
    }

    /// The field that announces the length of the content (RFC 9110, section 8.6).
    private static func announcement(of body: Body, _ method: HTTPRequest.Method) -> HTTPField? {
        guard let length = body.length else { return HTTPField(name: .transferEncoding, value: "chunked") }
        guard length > 0 || !methodsWithoutContent.contains(method) else { return nil }
        return HTTPField(name: .contentLength, value: String(length))
    }

    private static let methodsWithoutContent: [HTTPRequest.Method] = [.get, .head, .delete, .options, .trace, .connect]
}

/// The content of a request between one producer and libcurl, its consumer.
struct CurlUpload: Sendable {
    /// The producer waits while this many bytes are to be sent, and goes on when half of them were taken.
    ///
    /// These are four chunks of a file. With half of it, libcurl took the last chunk before the producer was awake, and
    /// both waited for each other.
    private static let highMark = 1 << 20
    /// What waits to be sent, and the buffer of libcurl.
    static let bytesHeld = highMark + CurlOptions.bufferSize

    /// The answer to libcurl when it asks for content.
    enum Supply: Equatable {
        case bytes(Int)
        case nothing
        case end
        /// The content has ended before its length.
        case short
    }

    let length: Int64?
    /// The body that a task reads; nil if all content is in memory.
    private(set) var source: Body?
    private var chunks: ArraySlice<Data> = []
    private var waiting = 0
    private var supplied: Int64 = 0
    private var isComplete = false
    private(set) var trailers: HTTPFields?
    private var producer: CheckedContinuation<Bool, Never>?

    /// Takes a body; a file is checked away from the caller's actor.
    init(_ body: Body) async throws {
        length = body.length
        switch body.storage {
        case .bytes(let data):
            if !data.isEmpty { chunks = [data] }
            isComplete = true
        case .file(let file):
            try await Self.check(file)
            source = body
        case .stream:
            if body.isEmpty { isComplete = true } else { source = body }
        }
    }

    @concurrent private static func check(_ file: BodyFile) async throws {
        do {
            guard try BodyFile(file.url) == file else { throw BodyLengthError() }
        } catch {
            throw TransportError(.unreadableBody, at: .connecting, underlying: error)
        }
    }

    /// Adds a chunk; returns whether the producer may continue at once, and otherwise keeps its continuation.
    mutating func offer(_ chunk: Data, from producer: CheckedContinuation<Bool, Never>) -> Bool {
        chunks.append(chunk)
        waiting += chunk.count
        guard waiting >= Self.highMark else { return true }
        self.producer = producer
        return false
    }

    mutating func finish(trailers: HTTPFields?) {
        isComplete = true
        self.trailers = trailers
    }

    /// Discards all content and returns the producer, if it waits.
    mutating func discard() -> CheckedContinuation<Bool, Never>? {
        chunks = []
        source = nil
        return producer.take()
    }

    /// Moves content to a buffer, and returns the producer if it may continue.
    mutating func supply(
        _ buffer: UnsafeMutableRawBufferPointer
    ) -> (supply: Supply, producer: CheckedContinuation<Bool, Never>?) {
        var count = 0
        while count < buffer.count, let chunk = chunks.first {
            let part = chunk.prefix(buffer.count - count)
            unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyBytes(from: part)
            count += part.count
            if part.count < chunk.count {
                chunks[chunks.startIndex] = chunk.dropFirst(part.count)
            } else {
                chunks.removeFirst()
            }
        }
        supplied += Int64(count)
        if source != nil { waiting -= count }
        let released = waiting <= Self.highMark / 2 ? producer.take() : nil
        guard count == 0 else { return (.bytes(count), released) }
        guard isComplete else { return (.nothing, released) }
        return (supplied < length ?? 0 ? .short : .end, released)
    }
}
#endif
