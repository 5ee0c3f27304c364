import Decorum
import DecorumArchive
import Foundation

/// Content that is not written unless the rules allow it, because secrets in it would not be found: archives, whose
/// files are compressed, and binary formats with fields of text.
enum UnsearchedContent {
    private static let mediaTypes: Set<String> = [
        "application/bson", "application/cbor", "application/gzip", "application/java-archive",
        "application/msgpack", "application/protobuf", "application/vnd.android.package-archive",
        "application/vnd.apache.avro", "application/vnd.google.protobuf", "application/vnd.msgpack",
        "application/vnd.rar", "application/x-7z-compressed", "application/x-bzip2", "application/x-gzip",
        "application/x-msgpack", "application/x-protobuf", "application/x-tar", "application/x-xz", "application/zip",
        "application/x-zip-compressed", "application/zstd",
    ]
    /// The first bytes of archives and of compressed files.
    private static let starts: [[UInt8]] = [
        [0x50, 0x4B, 0x03, 0x04], [0x1F, 0x8B, 0x08], [0x37, 0x7A, 0xBC, 0xAF], Array("Rar!".utf8), Array("BZh".utf8),
        [0xFD, 0x37, 0x7A, 0x58, 0x5A], [0x28, 0xB5, 0x2F, 0xFD],
    ]

    /// Whether content, or a part of a multipart body, is an archive or has a binary format.
    static func includes(_ content: [UInt8], mediaType: String?) -> Bool {
        guard !content.isEmpty else { return false }
        let essence = (mediaType ?? "").mediaTypeEssence
        if let mediaType, essence.hasPrefix("multipart/") {
            var isInPart = false
            _ = MultipartPart.replacing(in: Data(content), mediaType: mediaType) { part in
                isInPart = isInPart || includes(Array(part.content), mediaType: part.mediaType)
                return nil
            }
            if isInPart { return true }
        }
        if mediaTypes.contains(essence) || essence.hasPrefix("application/grpc") { return true }
        return starts.contains { content.starts(with: $0) } || content.dropFirst(257).starts(with: "ustar".utf8)
    }
}
