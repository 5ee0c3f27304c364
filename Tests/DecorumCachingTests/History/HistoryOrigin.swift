import Decorum
import Foundation
import HTTPTypes

/// The server of a history: it answers each principal with the current version of a resource, and takes its time.
struct HistoryOrigin: Connection {
    /// An answer that was lost on its way, and the changes that the server has made all the same.
    struct LostAnswer: Error {
        let changes: [HistoryWorld.Change]
    }

    let world: HistoryWorld
    let generator: SeededGenerator

    func send(_ request: consuming Request) async throws -> Response {
        let request = request
        request.reportSending()
        guard let uri = request.head.path.flatMap({ Int($0.dropFirst(2)) }),
            let principal = HistoryWorld.principals.firstIndex(of: request.options.principal)
        else { return Response(status: .badRequest) }
        if request.head.method != .get { return try await change(request, uri, principal) }

        let sequence = world.receive()
        let kind = ResourceKind(uri: uri)
        var made = HistoryModel.Choice(principal: principal, uri: uri)
        if kind == .byType { made.type = Int(request.head.headerFields[.accept] ?? "") ?? 0 }
        if kind == .byCookie { made.cookie = request.head.headerFields[.cookie].flatMap { Int($0.dropFirst(4)) } ?? 0 }
        let content = HistoryContent(made: made, version: world.version(uri, of: principal))
        var fields: HTTPFields = [
            .cacheControl: kind.control, .label: content.label, .sequence: String(sequence),
            .time: String(world.time),
        ]
        if kind.hasTag { fields[.eTag] = content.tag }
        if kind == .byType { fields[.vary] = "Accept" }
        await pause()
        return answer(request.head.headerFields, content, fields)
    }

    private func answer(_ asked: HTTPFields, _ content: HistoryContent, _ fields: HTTPFields) -> Response {
        var fields = fields
        let tags = asked[.ifNoneMatch]?.split(separator: ",").map { $0.trimmingPrefix(" ") } ?? []
        if fields.contains(.eTag), tags.contains(content.tag[...]) {
            return Response(status: .notModified, fields: fields)
        }
        let whole = content.bytes
        guard content.made.kind == .ranged, let range = asked[.range].flatMap({ Self.range($0, whole.count) }),
            asked[.ifRange].map({ $0 == content.tag }) ?? true
        else { return Response(status: .ok, fields: fields, body: body(whole)) }
        fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(whole.count)"
        return Response(status: .partialContent, fields: fields, body: body(Data(whole[range])))
    }

    private static func range(_ text: String, _ length: Int) -> Range<Int>? {
        let ends = text.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int(ends[0]), first < length else { return nil }
        return first..<min(length, (Int(ends[1]) ?? length - 1) + 1)
    }

    /// Half of all content arrives in parts, some time after the head, and some of the other half is read once too.
    private func body(_ content: Data) -> Body {
        guard generator.next() % 2 == 0 else {
            return generator.next() % 2 == 0 ? Body(content) : Body(arrived: content)
        }
        let size = max(1, content.count / Int(1 + generator.next() % 3))
        let isKnown = generator.next() % 2 == 0
        return Body(length: isKnown ? Int64(content.count) : nil, replay: .once) { _ in
            PartReader(rest: content, size: size, generator: generator)
        }
    }

    /// Changes a resource of a principal, or of all principals with POST, and sometimes another one.
    private func change(_ request: Request, _ uri: Int, _ principal: Int) async throws -> Response {
        await pause()
        let fate = generator.next() % 16
        guard fate > 0 else { return Response(status: generator.next() % 2 == 0 ? .conflict : .internalServerError) }
        let isForAll = request.head.method == .post
        var changes = (isForAll ? Array(HistoryWorld.principals.indices) : [principal]).map { principal in
            world.change(uri, of: principal)
        }
        var fields = HTTPFields()
        if fate < 4 {
            let other = (uri + 1) % HistoryWorld.uris
            changes.append(world.change(other, of: principal))
            fields[.contentLocation] = "/r\(other)"
        }
        await pause()
        // An answer with another URI is never lost, since the client could not know that URI.
        if fate == 4 { throw TransportError(.connectionLost, at: .head, underlying: LostAnswer(changes: changes)) }
        fields[.changes] = changes.map { "\($0.uri) \($0.principal) \($0.version)" }.joined(separator: ", ")
        return Response(status: .noContent, fields: fields)
    }

    private func pause() async {
        for _ in 0..<generator.next() % 6 { await Task.yield() }
    }
}

private struct PartReader: BodyReader {
    var rest: Data
    let size: Int
    let generator: SeededGenerator
    var trailers: HTTPFields? { nil }

    mutating func next() async throws -> Data? {
        for _ in 0..<generator.next() % 4 { await Task.yield() }
        try Task.checkCancellation()
        guard !rest.isEmpty else { return nil }
        defer { rest = rest.dropFirst(size) }
        return Data(rest.prefix(size))
    }
}

extension HistoryWorld.Change {
    /// Reads the field of a response.
    static func list(_ field: String) -> [HistoryWorld.Change] {
        field.split(separator: ", ").compactMap { text in
            let parts = text.split(separator: " ").compactMap { Int($0) }
            guard parts.count == 3 else { return nil }
            return HistoryWorld.Change(uri: parts[0], principal: parts[1], version: parts[2])
        }
    }
}

/// The content of a version of a resource: its label and its length, followed by bytes that follow from both.
struct HistoryContent: Sendable, Hashable {
    var made: HistoryModel.Choice
    var version: Int

    private static let pattern: Data = {
        let generator = SeededGenerator(seed: 7)
        return Data((0..<1 << 16).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
    }()

    private var hash: Int {
        let parts = [made.principal, made.uri, made.cookie, made.type, version]
        // A step of FNV-1a for each part, and the upper bits, which depend on all of them.
        let hash = parts.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return Int(hash >> 20)
    }

    /// The label, as in the field of a response.
    var label: String { "\(made.principal) \(made.uri) \(made.cookie) \(made.type) \(version)" }

    var tag: String { "\"\(made.principal)-\(made.uri)-\(made.cookie)-\(made.type)-\(version)\"" }

    var bytes: Data {
        let hash = hash
        let length = made.kind == .large ? 5000 + hash % 15_000 : hash % 400
        let start = hash / 400 % (Self.pattern.count - length)
        return Data("\(label), \(length) bytes, checksum \(hash)\n".utf8) + Self.pattern[start..<start + length]
    }

    init(made: HistoryModel.Choice, version: Int) {
        self.made = made
        self.version = version
    }

    /// Reads a label.
    init?(label: String) {
        let parts = label.split(separator: " ").compactMap { Int($0) }
        guard parts.count == 5 else { return nil }
        made = HistoryModel.Choice(principal: parts[0], uri: parts[1], cookie: parts[2], type: parts[3])
        version = parts[4]
    }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    static let label = HTTPField.Name("X-Label")!
    // swift-format-ignore: NeverForceUnwrap
    static let sequence = HTTPField.Name("X-Sequence")!
    // swift-format-ignore: NeverForceUnwrap
    static let time = HTTPField.Name("X-Time")!
    // swift-format-ignore: NeverForceUnwrap
    static let changes = HTTPField.Name("X-Changes")!
}

extension HistoryModel.Answer {
    /// Reads a response; one that no server of a history gives counts as damaged.
    init(_ response: Response, _ content: Data) {
        let fields = response.head.headerFields
        isShared = response.metadata.isCoalesced
        guard let label = fields[.label].flatMap({ HistoryContent(label: $0) }) else {
            isWhole = false
            return
        }
        made = label.made
        version = label.version
        sequence = fields[.sequence].flatMap { Int($0) } ?? 0
        time = fields[.time].flatMap { Int($0) } ?? 0
        switch response.status {
        case .ok: isWhole = content == label.bytes
        case .partialContent:
            let whole = label.bytes
            isWhole =
                fields[.contentRange] == "bytes 0-\(content.count - 1)/\(whole.count)"
                && content == whole.prefix(content.count)
        default: isWhole = false
        }
    }
}
