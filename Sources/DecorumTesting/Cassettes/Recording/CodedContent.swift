import Decorum
import Foundation
import HTTPTypes

extension RecordedRequest {
    /// Undoes the content coding, if it is one that is known here.
    mutating func decodeContent() {
        guard !body.bytes.isEmpty, fields.contains(.contentEncoding) else { return }
        // The content of a request is coded by the same field and in the same codings.
        var message = RecordedResponse(status: 200, fields: fields, body: body)
        _ = message.decodeContent(of: method)
        (fields, body) = (message.fields, message.body)
    }

    /// The content codings that are left; nil if there is none.
    fileprivate var remainingCoding: String? { body.bytes.isEmpty ? nil : fields.contentCoding }
}

extension RecordedResponse {
    fileprivate var remainingCoding: String? { body.bytes.isEmpty ? nil : fields.contentCoding }
}

extension Interaction {
    /// Undoes the content codings of both messages, if they are known here.
    ///
    /// A transport may have undone some before. The recorded chunks are those of the coded content, so they are dropped
    /// with it.
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
        for (coding, place) in [
            (request.remainingCoding, "request \(number)"),
            (response?.remainingCoding, "the response to request \(number)"),
        ] {
            guard let coding else { continue }
            let isKnown = coding.split(separator: ",").allSatisfy {
                ContentCoding($0.trimmingCharacters(in: .whitespaces)).isDecodable
            }
            let fault =
                isKnown
                ? "its content is damaged or was cut, so that its Content-Encoding \(coding.debugDescription) cannot be undone"
                : "its Content-Encoding is \(coding.debugDescription), which cannot be undone"
            let remedy = isKnown ? "" : "ask for another coding in Accept-Encoding, "
            throw CassetteError(
                file: file, place: place,
                reason: "\(fault), and secrets in it would not be found; \(remedy)set `rules.content = .coded`, or let "
                    + "`rules.beforeRecording` make something else of it")
        }
    }
}

extension HTTPFields {
    /// The content codings that the fields name; nil if there is none but `identity`.
    fileprivate var contentCoding: String? {
        guard let value = self[.contentEncoding] else { return nil }
        let codings = value.lowercased().split { $0 == "," || $0 == " " }
        return codings.allSatisfy { $0 == "identity" } ? nil : value
    }
}
