#if os(Linux)
import Foundation
import HTTPTypes

/// The names of fields that most responses have, so that they need not be checked and lower-cased for each.
///
/// The first letter, the last letter and the length of a name choose its place.
struct CurlFieldNames: Sendable {
    /// The usual names, as servers spell them over HTTP/1.1, and in lower case as over HTTP/2.
    static let usual = CurlFieldNames([
        "Accept-Ranges", "Age", "Cache-Control", "Connection", "Content-Encoding", "Content-Length", "Content-Type",
        "Date",
        "ETag", "Expires", "Keep-Alive", "Last-Modified", "Link", "Location", "Server", "Set-Cookie",
        "Strict-Transport-Security", "Transfer-Encoding", "Vary",
    ])

    private struct Entry: Sendable {
        let spelling: [UInt8]
        let name: HTTPField.Name
    }

    private static let size = 256
    private var places = [[Entry]](repeating: [], count: Self.size)

    init(_ names: [String]) {
        for text in Set(names + names.map { $0.lowercased() }) {
            guard let name = HTTPField.Name(text) else { continue }
            let spelling = Array(text.utf8)
            let place = unsafe spelling.withUnsafeBytes { unsafe Self.place(of: $0) }
            places[place].append(Entry(spelling: spelling, name: name))
        }
    }

    /// The name with exactly this spelling; nil where it is no valid name.
    func name(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
        for entry in unsafe places[Self.place(of: bytes)] {
            let isEqual = unsafe entry.spelling.withUnsafeBytes { spelling in
                guard spelling.count == bytes.count, let own = spelling.baseAddress,
                    let other = bytes.baseAddress
                else { return false }
                return unsafe memcmp(own, other, bytes.count) == 0
            }
            if isEqual { return entry.name }
        }
        return unsafe HTTPField.Name(String(decoding: bytes, as: UTF8.self))
    }

    private static func place(of bytes: UnsafeRawBufferPointer) -> Int {
        guard let first = unsafe bytes.first, let last = unsafe bytes.last else { return 0 }
        return (61 &* Int(first) &+ 5 &* Int(last) &+ 131 &* bytes.count) & (size - 1)
    }
}
#endif
