import Decorum
import Foundation
import HTTPTypes

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
