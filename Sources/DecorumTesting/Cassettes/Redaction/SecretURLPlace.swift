import Decorum

/// The place of a text that looks like a secret in the URL of a request.
///
/// A path in JSON would lead to the URL in a file that is not written, and not to the code that sends the request.
struct SecretURLPlace: Sendable, Hashable, CustomStringConvertible {
    /// The name of the query item whose value holds the text; nil if the text is elsewhere in the URL.
    let item: String?
    /// The method and the URL, without what looks like a secret.
    let request: String

    var description: String {
        item.map { "the query item \($0.debugDescription) of \(request)" } ?? "the URL of \(request)"
    }
}

extension SecretURLPlace {
    /// The places in a URL, in its order.
    static func all(inURL url: String, of method: String, by scanner: SecretScanner) -> [SecretURLPlace] {
        let bytes = Array(url.utf8)
        let request = scanner.masked("\(method) \(url)")
        return scanner.hits(in: bytes).map(\.range).sorted { $0.lowerBound < $1.lowerBound }.map { range in
            // A name may hold a secret too.
            let item = Self.item(around: range, in: bytes).flatMap { scanner.masked($0) == $0 ? $0 : nil }
            return SecretURLPlace(item: item, request: request)
        }
    }

    /// The name of the query item whose value holds a range; nil if there is none.
    private static func item(around range: Range<Int>, in url: [UInt8]) -> String? {
        let end = url.firstIndex(of: UInt8(ascii: "#")) ?? url.count
        guard range.upperBound <= end, let query = url.firstIndex(of: UInt8(ascii: "?")), query < range.lowerBound
        else { return nil }
        let start = (url[query..<range.lowerBound].lastIndex(of: UInt8(ascii: "&")) ?? query) + 1
        guard let equals = url[start..<range.lowerBound].firstIndex(of: UInt8(ascii: "=")), equals > start,
            !url[range].contains(UInt8(ascii: "&"))
        else { return nil }
        return String(decoding: PercentCoding.decode(url[start..<equals]), as: UTF8.self)
    }
}

extension SecretFoundError {
    /// The error of a cassette in which the secrets in URLs are told with their requests.
    ///
    /// `request` returns the method and the URL of the interaction with a number from 0; nil if it is not known.
    func namingRequests(by scanner: SecretScanner, _ request: (Int) -> (method: String, url: String)?) -> Self {
        var named = findings
        for (path, indices) in Dictionary(grouping: findings.indices, by: { findings[$0].path }) {
            guard let number = path.flatMap(Self.interaction(ofURLAt:)), let (method, url) = request(number) else {
                continue
            }
            let places = SecretURLPlace.all(inURL: url, of: method, by: scanner)
            // JSON may escape a character of a URL, and a text is then found in one of both alone.
            guard places.count == indices.count else { continue }
            for (index, place) in zip(indices, places) { named[index].urlPlace = place }
        }
        return Self(file: file, findings: named, exchange: exchange)
    }

    /// The number of the interaction whose request has its URL at a path of the format; nil for every other path.
    private static func interaction(ofURLAt path: String) -> Int? {
        let (start, end) = ("$.interactions[", "].request.url")
        guard path.hasPrefix(start), path.hasSuffix(end) else { return nil }
        return Int(path.dropFirst(start.count).dropLast(end.count))
    }
}
