import Decorum
import Foundation
import HTTPTypes

/// What an outbox or a queue has accepted, as it stands on the disk, beside its content.
struct EntryRecord: Codable, Sendable, Equatable {
    /// The file that a transfer reads or writes, and its turn.
    struct Job: Codable, Sendable, Equatable {
        /// The path of the file; below the home of the app, which may move, it begins with a tilde.
        var place: String
        /// The name of the upload protocol; nil for a download.
        var uploadProtocol: String?
        var priority: TaskPriority
        var network: TransferNetwork
        var isPaused = false
    }

    static let sizeLimit = 1 << 20

    var id: OutboxEntry.ID
    var lane: String
    var principal: String?
    var date: Date
    var head: HTTPRequest
    var routeName: String?
    /// Whether the URL has placeholders in the place of secrets, which the app fills.
    var asksForURL = false
    /// The names of query items and fields whose values are secret in a URL of the app, too.
    var secretQueryItems: [String] = []
    var secretFields: [String] = []
    var length: Int64 = 0
    var checksum: UInt64?
    var job: Job?
    var result: OutboxResult?
}

extension EntryRecord {
    /// Takes a request apart; throws ``OutboxError`` for one of another user, or one whose rest may hold a secret.
    init(
        _ request: Request, lane: String?, allowingSecrets: Bool, job: Job?, _ settings: EntrySender.Settings
    ) throws {
        let (options, principal) = (request.options, settings.principal)
        guard options.principal == nil || options.principal == principal else { throw OutboxError(.otherPrincipal) }
        var head = request.head
        if head.scheme != nil || head.authority != nil { try request.validate() }
        let redaction = settings.redaction.covering(queryItems: options.secretQueryItems)
        let secretFields = settings.connection.secretFields.union(options.secretFields)
        let fields = head.headerFields.filter {
            !Redaction.standard.isNamedSecret($0, secretFields: secretFields) && !redaction.isNamedSecret($0)
        }
        guard allowingSecrets || redaction.applied(to: fields) == fields else { throw OutboxError(.secret("A field")) }
        head.headerFields = [:]
        let shown = redaction.applied(to: head)
        let asksForURL = !allowingSecrets && shown != head
        guard !asksForURL || settings.url != nil else { throw OutboxError(.secret("The URL")) }
        // The redaction of the app may mask more items than the request declares.
        let items = [head, shown].map { ($0.path ?? "").split { "?&".contains($0) } }
        let changed = zip(items[0], items[1]).filter { $0 != $1 }
        let names = changed.compactMap { $0.0.split(separator: "=").first.map(String.init) }
        self.init(
            id: OutboxEntry.ID(0, settings.generator.uuidText()), lane: lane ?? (try? Origin(head))?.description ?? "",
            principal: principal?.name, date: settings.clock.date, head: asksForURL ? shown : head,
            routeName: options.routeName, asksForURL: asksForURL,
            secretQueryItems: options.secretQueryItems.union(asksForURL ? names : []).sorted(),
            secretFields: options.secretFields.map(\.rawName).sorted(), job: job)
        self.head.headerFields = fields
        if job == nil, !fields.contains(.idempotencyKey) {
            let key = StructuredItem(.string(options.idempotencyKey ?? id.key))
            self.head.headerFields[.idempotencyKey] = try key.serialized()
        }
    }

    /// Whether it is over, and not by a failure, which the app can take back.
    var hasEnded: Bool { result.map { $0.state != .failed } ?? false }

    var url: String { (head.scheme.map { $0 + "://" } ?? "") + (head.authority ?? "") + (head.path ?? "") }

    /// The request without credentials, and without the secrets of its URL.
    func request(with body: Body = .empty) -> Request {
        var request = Request(head: head, body: body)
        request.options.principal = principal.map(Principal.init)
        request.options.routeName = routeName
        request.options.transferTarget = asksForURL ? url : nil
        request.options.secretQueryItems = Set(secretQueryItems)
        request.options.secretFields = Set(secretFields.compactMap { HTTPField.Name($0) })
        request.options.priority = job?.priority ?? request.options.priority
        return request
    }
}

extension EntryRecord.Job {
    init(_ file: URL, _ uploadProtocol: String?, _ priority: TaskPriority, _ network: TransferNetwork) {
        place = Self.place(of: file)
        (self.uploadProtocol, self.priority, self.network) = (uploadProtocol, priority, network)
    }

    static func place(of file: URL) -> String {
        let (path, home) = (file.standardizedFileURL.path(percentEncoded: false), NSHomeDirectory())
        return path.hasPrefix(home + "/") ? "~" + path.dropFirst(home.count) : path
    }

    var file: URL {
        let path = place.hasPrefix("~/") ? NSHomeDirectory() + place.dropFirst() : place
        return URL(filePath: path, directoryHint: .notDirectory)
    }
}

/// The form of all records on the disk: a line with the version and a checksum, and JSON.
enum RecordForm {
    static let version = 1
    private static let mark = "decorum-record"

    static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json = try encoder.encode(value)
        return Data("\(mark) \(version) \(checksum(json))\n".utf8) + json
    }

    /// Reads a record; nil for one that is damaged, or of another version.
    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: Data) -> Value? {
        // The first line has less than a hundred bytes.
        guard let end = bytes.prefix(100).firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let json = bytes[(end + 1)...]
        guard bytes[..<end].elementsEqual("\(mark) \(version) \(checksum(json))".utf8) else { return nil }
        return try? JSONDecoder().decode(type, from: json)
    }

    private static func checksum(_ json: Data) -> String { String(Checksum.of(Array(json)[...], seed: 21), radix: 16) }
}

/// Whose transfer of what it is, in a form that shows no secret and no user.
struct TransferIdentity: Sendable, Hashable, Codable {
    let origin: String?
    /// The hash of the method and of the URL without the values that the app declares secret, which a new signature changes.
    let resource: String
    /// The hash of the user's name; nil without one.
    let principal: String?
    let uploadProtocol: String?

    /// The identity of a request; without a connection, its options name the user.
    init(_ request: Request, over connection: (any Connection)? = nil, by uploadProtocol: String? = nil) {
        let declared = Redaction(userinfo: false, masksTokens: false)
            .covering(queryItems: request.options.secretQueryItems)
        let target = request.options.transferTarget ?? request.url?.absoluteString ?? request.head.path ?? ""
        origin = (try? Origin(request.head)).map { "\($0)" }
        resource = Self.hash("\(request.head.method) \(declared.applied(toURL: target))")
        principal = (connection?.principal(of: request) ?? request.options.principal).map { Self.hash($0.name) }
        self.uploadProtocol = uploadProtocol
    }

    /// The place of a download to a folder, whose file has no name yet.
    func file(in folder: URL) -> URL {
        folder.appending(path: "download-" + hash(beside: ""), directoryHint: .notDirectory)
    }

    func hash(beside text: String) -> String {
        Self.hash([origin, resource, principal, uploadProtocol, text].map { $0 ?? "" }.joined(separator: "\n"))
    }

    static func hash(_ text: String) -> String {
        var checksum = Checksum(seed: 0)
        checksum.add(text)
        return String(checksum.value, radix: 16)
    }
}
