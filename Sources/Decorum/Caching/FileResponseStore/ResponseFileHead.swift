import Foundation
import HTTPTypes

/// The content of the file of a stored response, without its body.
struct ResponseFileHead: Sendable {
    private let response: StoredResponse

    /// The largest head, in bytes, that is written.
    static let lengthLimit = 1 << 20

    /// The bytes of a head, with the key in full, since two keys may have one digest.
    static func bytes(of response: StoredResponse, key: ResponseKey) -> [UInt8]? {
        let countLimit = Int(UInt16.max)
        guard response.head.headerFields.count <= countLimit, response.decodedContentCodings.count <= countLimit else {
            return nil
        }
        var writer = ByteWriter()
        writer.add(key.method.rawValue)
        writer.add(key.uri.scheme)
        writer.add(key.uri.authority)
        writer.add(key.uri.path)
        writer.add(UInt8(key.principal == nil ? 0 : 1))
        writer.add(key.principal?.name ?? "")
        writer.add(UInt16(clamping: key.credentials.count))
        for field in key.credentials {
            writer.add(field.name.canonicalName)
            writer.add(field.value)
        }
        writer.add(response.requestDate.timeIntervalSinceReferenceDate.bitPattern)
        writer.add(response.date.timeIntervalSinceReferenceDate.bitPattern)
        writer.add(UInt16(clamping: response.head.status.code))
        writer.add(response.head.status.reasonPhrase)
        writer.add(response.head.headerFields)
        writer.add(response.selectingFields)
        writer.add(UInt16(clamping: response.decodedContentCodings.count))
        for coding in response.decodedContentCodings { writer.add(coding) }
        return writer.bytes.count <= lengthLimit ? writer.bytes : nil
    }

    /// Reads a head; nil when the bytes are not a head, or are a head for another key.
    init?(_ bytes: UnsafeRawBufferPointer, key: ResponseKey) {
        var reader = unsafe ByteReader(bytes)
        guard reader.skip(key.method.rawValue), reader.skip(key.uri.scheme), reader.skip(key.uri.authority),
            reader.skip(key.uri.path), reader.number(UInt8.self) == (key.principal == nil ? 0 : 1),
            reader.skip(key.principal?.name ?? ""),
            reader.number(UInt16.self) == UInt16(clamping: key.credentials.count)
        else { return nil }
        for field in key.credentials {
            guard reader.skip(field.name.canonicalName), reader.skip(field.value) else { return nil }
        }
        guard let requestDate = reader.number(UInt64.self),
            let date = reader.number(UInt64.self), let code = reader.number(UInt16.self), code <= 999,
            let reasonPhrase = reader.text(), let fields = reader.fields(), let selectingFields = reader.fields(),
            let codingCount = reader.number(UInt16.self)
        else { return nil }
        var codings: [String] = []
        for _ in 0..<codingCount {
            guard let coding = reader.text() else { return nil }
            codings.append(coding)
        }
        guard reader.isAtEnd else { return nil }
        response = StoredResponse(
            head: HTTPResponse(status: .init(code: Int(code), reasonPhrase: reasonPhrase), headerFields: fields),
            body: .empty, selectingFields: selectingFields,
            requestDate: Date(timeIntervalSinceReferenceDate: Double(bitPattern: requestDate)),
            date: Date(timeIntervalSinceReferenceDate: Double(bitPattern: date)), decodedContentCodings: codings)
    }

    /// The stored response with a body, and the random number of its file.
    func response(_ body: Body, nonce: UInt64) -> StoredResponse {
        var response = response
        response.body = body
        response.fileNonce = nonce
        return response
    }
}
