import HTTPTypes

/// Decides by values alone whether and how the content of a request is compressed.
enum CompressionDecision: Hashable {
    /// The request is sent as it is.
    case pass
    /// The content is compressed before the request is sent, so that its length is known.
    case whole
    /// The content is compressed while it is sent.
    case streamed

    /// The longest content in memory that is compressed before it is sent: 1 MiB.
    static let wholeLimit = 1 << 20

    static func of(_ request: borrowing Request, policy: CompressionPolicy) -> Self {
        let fields = request.head.headerFields
        guard !request.body.isEmpty, !fields.contains(where: { describingFields.contains($0.name) }),
            !isCoded(mediaType: fields[.contentType])
        else { return .pass }
        guard let length = request.body.length else {
            return request.body.replay > .once || policy.compressesStreams ? .streamed : .pass
        }
        guard length >= policy.minimumLength else { return .pass }
        return request.body.bytes != nil && length <= wholeLimit ? .whole : .streamed
    }

    /// Fields that say how the bytes are to be read, or what they are, as the caller has them.
    private static let describingFields = Set(
        ["Content-Encoding", "Content-Range", "Content-Digest", "Repr-Digest", "Digest", "Content-MD5"].compactMap {
            HTTPField.Name($0)
        })

    /// Whether content of a media type is compressed as such.
    static func isCoded(mediaType: String?) -> Bool {
        guard let essence = mediaType?.mediaTypeEssence else { return false }
        if essence.hasPrefix("audio/") || essence.hasPrefix("video/") || essence.hasPrefix("font/woff") { return true }
        if essence.hasPrefix("image/") { return !["image/svg+xml", "image/bmp"].contains(essence) }
        return essence.hasSuffix("+zip") || essence.hasPrefix("application/vnd.openxmlformats")
            || codedTypes.contains(essence)
    }

    private static let codedTypes: Set<String> = [
        "application/brotli", "application/gzip", "application/java-archive", "application/pdf",
        "application/vnd.rar", "application/x-7z-compressed", "application/x-bzip2", "application/x-gzip",
        "application/x-rar-compressed", "application/x-xz", "application/zip", "application/zlib", "application/zstd",
    ]

    /// Whether a response refuses a request because of its coding (RFC 9110, sections 12.5.3 and 15.5.16).
    ///
    /// A `415` without `Accept-Encoding` refuses the media type.
    static func isRefused(_ coding: ContentCoding, by response: borrowing HTTPResponse) -> Bool {
        guard response.status == .unsupportedMediaType, response.headerFields.contains(.acceptEncoding),
            let value = response.headerFields[.acceptEncoding]
        else { return false }
        var isAccepted = false
        for member in ListMembers(value) {
            let parts = member.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
            guard let name = parts.first, name == "*" || ContentCoding(name).isSame(as: coding) else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            // A coding that is named counts before the asterisk.
            if name != "*" { return weight == 0 }
            isAccepted = weight > 0
        }
        return !isAccepted
    }
}
