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
        let wanted = Self.placeholders(of: request)
        guard !wanted.isEmpty else { return nil }
        return try ordinals.first { try wanted.isSubset(of: Self.placeholders(of: content.request(at: $0))) }
    }

    private static func placeholders(of request: RecordedRequest) -> Set<[UInt8]> {
        let texts = [Array(request.url.utf8), Array(request.body.bytes)] + request.fields.map { Array($0.value.utf8) }
        return Set(texts.flatMap { text in PseudonymPlaces.all(in: text).map { Array(text[$0]) } })
    }
}
