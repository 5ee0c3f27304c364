import Decorum
import Foundation
import HTTPTypes

/// The choice among recordings that answer a request equally well: the one with the placeholders that the request holds.
///
/// Requests are compared without their secrets. So where two users ask for the same URL, each with a token from a login
/// that was played, only the placeholder tells which recording is whose.
struct PlaceholderPreference {
    /// Further recordings are not compared, since each takes time.
    static let limit = 20

    /// The request as it is sent.
    let request: RecordedRequest
    let content: CassetteContent

    /// The first of several recordings that holds all placeholders of the request; nil if it has none.
    func first(of ordinals: [Int]) throws -> Int? {
        guard ordinals.count > 1 else { return nil }
        let names = content.placeholders
        let wanted = request.placeholders(named: names != nil)
        guard !wanted.isEmpty else { return nil }
        return try ordinals.first { ordinal in
            try wanted.isSubset(of: names?[ordinal] ?? content.request(at: ordinal).placeholders(named: false))
        }
    }
}

extension RecordedRequest {
    /// The texts of the request, each without the percent-encoding of its place.
    var plainTexts: [[UInt8]] {
        let content = Array(body.bytes)
        let isForm = ContentKind(mediaType: fields[.contentType]) == .form
        return [
            PercentCoding.decode(Array(url.utf8)[...], plusIsBlank: false),
            isForm ? PercentCoding.decode(content[...], plusIsBlank: true) : content,
        ] + fields.map { Array($0.value.utf8) }
    }

    /// The placeholders of the request, without percent-encoding and Base64, and, if asked for, those of other tools, such as
    /// `<API_KEY>`.
    func placeholders(named: Bool) -> Set<[UInt8]> {
        Set(
            plainTexts.flatMap { text -> [[UInt8]] in
                let names = named ? Placeholder.all(in: text).map { Array($0.name.utf8) } : []
                let texts = [text] + EncodedWord.all(in: text).map(\.text)
                return names + texts.flatMap { text in PseudonymPlaces.all(in: text).map { Array(text[$0]) } }
            })
    }
}
