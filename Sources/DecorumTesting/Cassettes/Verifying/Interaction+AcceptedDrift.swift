import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

extension Interaction {
    /// Fields that servers and proxies add for the transfer, or that are compared otherwise.
    private static let transferFields = Set(
        [
            "Age", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Keep-Alive", "Server",
            "Set-Cookie", "Strict-Transport-Security", "traceparent", "tracestate", "Trailer", "Transfer-Encoding",
            "Upgrade", "Vary", "Via", "X-Cache", "X-Cache-Hits", "X-Correlation-Id", "X-Powered-By", "X-Served-By",
        ].compactMap { HTTPField.Name($0) })

    /// The differences between a live answer and the recorded one that fail no test by themselves, since a client may do
    /// without them: a field that is missing, an entity tag that is weak now, the number of elements or events, and a number
    /// with a fraction.
    ///
    /// Another status, another media type and an answer that broke off tell more, and then nothing is compared.
    func acceptedDrift(to live: Interaction, ignoring ignoredFields: Set<HTTPField.Name>) -> [String] {
        guard let old = response, let new = live.response, old.status == new.status,
            exchangeFailure?.kind == live.exchangeFailure?.kind, old.mediaType == new.mediaType
        else { return [] }
        var known = Self.transferFields.union(CassetteRules.volatileFields).union(ignoredFields)
        let missing = old.fields.map(\.name).filter { !new.fields.contains($0) && known.insert($0).inserted }
        var changes = missing.map { "field `\($0.rawName)`  is missing" }
        if let words = Self.weakening(of: old.fields[.eTag], to: new.fields[.eTag]) { changes.append(words) }
        let charsets = [old, new].map { $0.fields[.contentType].flatMap(Self.charset(of:)) ?? "none" }
        if charsets[0] != charsets[1] { changes.append("charset  was \(charsets[0]), is \(charsets[1])") }
        // Content that was cut has other numbers by chance.
        guard failure == nil, live.failure == nil else { return changes }
        if [old, new].allSatisfy({ EventLines.includes($0.fields[.contentType]) }) {
            return changes + EventTypes.countDrift(from: old.body.bytes, to: new.body.bytes)
        }
        guard let oldMeasures = JSONMeasures(of: old.body.bytes), let newMeasures = JSONMeasures(of: new.body.bytes)
        else { return changes }
        return changes + oldMeasures.drift(to: newMeasures)
    }

    /// The words for a strong entity tag that is weak now (RFC 9110, sections 8.8.3 and 13.1.1); nil for any other two.
    private static func weakening(of old: String?, to new: String?) -> String? {
        guard let old, let new, !old.hasPrefix("W/"), new.hasPrefix("W/") else { return nil }
        return "field `ETag`  was strong, is weak, so it no longer serves as a condition of changes (`If-Match`)"
    }

    /// The parameter `charset` of a media type (RFC 9110, section 8.3.2); nil if there is none.
    private static func charset(of mediaType: String) -> String? {
        mediaType.split(separator: ";").dropFirst().compactMap(PartFields.parameter)
            .first { $0.0 == "charset" && !$0.1.isEmpty }?.1.lowercased()
    }
}
