import Decorum
import Foundation
import HTTPTypes

extension Interaction {
    /// Undoes the content codings of both messages, if they are known here.
    ///
    /// A transport may have undone some before. The recorded chunks belong to the coded content, so they are dropped with it.
    mutating func decodeContent() {
        request.decodeContent()
        guard var decoded = response else { return }
        _ = decoded.decodeContent(of: request.method)
        if let before = response?.coding, let rest = decoded.coding, rest != before {
            decoded.coding = "\(before), \(rest)"
        }
        if decoded.body != response?.body { decoded.chunks = [] }
        response = decoded
    }

    /// Throws if content has a coding that was not undone, because its secrets cannot be found.
    func checkCoding(number: Int, file: String) throws(CassetteError) {
        let messages = [
            ("request \(number)", request.fields, request.body),
            ("the response to request \(number)", response?.fields ?? [:], response?.body ?? RecordedBody()),
        ]
        for (place, fields, body) in messages where !body.bytes.isEmpty {
            guard let coding = fields.contentCoding else { continue }
            throw CassetteError(
                file: file, place: place,
                reason:
                    "its Content-Encoding \(coding.debugDescription) cannot be undone, so secrets in it would not be "
                    + "found; ask for another coding, set `rules.content = .coded`, or change it in `rules.beforeRecording`"
            )
        }
    }
}

extension RecordedRequest {
    mutating func decodeContent() {
        guard !body.bytes.isEmpty, fields.contains(.contentEncoding) else { return }
        // The content of a request is coded by the same field and in the same codings.
        var message = RecordedResponse(status: 200, fields: fields, body: body)
        _ = message.decodeContent(of: method)
        (fields, body) = (message.fields, message.body)
    }
}

extension HTTPFields {
    /// The content codings that the fields name; nil for none but `identity`.
    fileprivate var contentCoding: String? {
        guard let value = self[.contentEncoding] else { return nil }
        let codings = value.lowercased().split { $0 == "," || $0 == " " }
        return codings.allSatisfy { $0 == "identity" } ? nil : value
    }
}
