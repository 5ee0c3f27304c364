import Foundation
import HTTPTypes

/// The content of a request whose response depends on it, such as a `QUERY`, with the fields that say how to read it.
final class RequestContent: Sendable, Equatable {
    let bytes: Data
    private let fields: [HTTPField]

    /// The largest content, in bytes, that is a part of a key.
    static let lengthLimit = 64 << 10

    /// The content of a request; nil when it is not in memory or above the limit.
    init?(_ request: borrowing Request) {
        guard let bytes = request.body.bytes, bytes.count <= Self.lengthLimit else { return nil }
        self.bytes = bytes
        fields = request.head.headerFields.filter { Self.describingFields.contains($0.name) }
    }

    static func == (lhs: RequestContent, rhs: RequestContent) -> Bool {
        lhs.bytes == rhs.bytes && lhs.fields == rhs.fields
    }

    var byteCount: Int {
        fields.reduce(bytes.count) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }
    }

    private static let describingFields = FieldNames(
        Set(["Content-Type", "Content-Encoding", "Content-Language"].compactMap { HTTPField.Name($0) }))
}
