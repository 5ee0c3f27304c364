/// Finds the secrets in the bytes of a URL, a form or a text by the names of a ``Redaction``.
///
/// In doubtful cases it finds a secret: a name counts after each `?`, `&`, `;`, `#` and `/`, and its value extends to
/// the end of the path segment or item.
///
/// ```swift
/// var search = SecretSearch(Array(url.utf8), redaction: .standard)
/// search.findInURL()
/// let masked = search.replacing { _ in Array("***".utf8) }
/// ```
public struct SecretSearch: Sendable {
    /// A secret that was found.
    public struct Found: Sendable, Hashable {
        /// The bytes of the secret.
        public let range: Range<Int>
        /// The bytes of the name of its item; nil for a user name with its password, a part of a path, and a token.
        public let name: Range<Int>?
        /// Whether it is a part of a path.
        public private(set) var isPath = false

        /// Creates a found secret.
        ///
        /// - Parameters:
        ///   - range: The bytes of the secret.
        ///   - name: The bytes of the name of its item; nil when absent.
        public init(range: Range<Int>, name: Range<Int>?) {
            self.range = range
            self.name = name
        }

        fileprivate init(range: Range<Int>, name: Range<Int>?, isPath: Bool) {
            self.init(range: range, name: name)
            self.isPath = isPath
        }
    }

    /// The bytes that are searched.
    public let bytes: [UInt8]
    /// The secrets found so far, in no order; one may lie within another.
    public internal(set) var found: [Found] = []
    /// The number of byte reads, which is proportional to the length.
    var steps = 0
    let redaction: Redaction
    /// The number of nested encodings that may still be searched.
    let nesting: Int
    let findsTokens: Bool

    /// Creates a search; call its methods to find secrets.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to search.
    ///   - redaction: The redaction that names the secrets.
    ///   - nesting: The maximum depth of nested encodings that are searched, such as a URL in the query of another.
    ///   - findsTokens: Whether tokens are found, also in an item with an encoded URL or JSON;
    ///     ``Redaction/masksTokens`` has to be true as well.
    public init(
        _ bytes: [UInt8], redaction: Redaction, nesting: Int = Redaction.nestingLimit, findsTokens: Bool = true
    ) {
        self.bytes = bytes
        self.redaction = redaction
        self.nesting = nesting
        self.findsTokens = findsTokens && redaction.masksTokens
    }

    /// The bytes with a replacement for each secret.
    ///
    /// Secrets that overlap or contain each other are replaced together.
    ///
    /// - Parameter replacement: Returns the bytes that replace a secret.
    /// - Returns: The bytes; nil when no secret was found.
    public func replacing(_ replacement: (_ secret: Found) -> [UInt8]) -> [UInt8]? {
        guard !found.isEmpty else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var copied = 0
        for secret in found.sorted(by: { $0.range.lowerBound < $1.range.lowerBound })
        where secret.range.upperBound > copied {
            if secret.range.lowerBound >= copied {
                output += bytes[copied..<secret.range.lowerBound]
                output += replacement(secret)
            }
            copied = secret.range.upperBound
        }
        return output + bytes[copied...]
    }

    /// The bytes with a percent-encoded placeholder for each secret; nil when no secret was found.
    func replaced() -> [UInt8]? {
        guard !found.isEmpty else { return nil }
        let placeholder = PercentCoding.encode(redaction.placeholder.utf8)
        return replacing { _ in placeholder }
    }

    mutating func count(_ steps: Int) { self.steps += steps }

    /// Adds secrets that were found in another way, such as by the grammar of another format.
    ///
    /// - Parameter secrets: The secrets.
    public mutating func add(_ secrets: some Sequence<Found>) {
        found += secrets
    }

    /// Finds tokens by their shape, in any place.
    public mutating func findTokens() {
        guard findsTokens else { return }
        found += TokenSearch.secrets(in: bytes, counting: &steps).map { Found(range: $0, name: nil) }
    }

    /// Finds the secrets of a URL or a reference (RFC 3986) that consists of all bytes.
    public mutating func findInURL() {
        findInURL(bytes.indices)
    }

    private mutating func findInURL(_ url: Range<Int>) {
        steps += url.count
        let fragment = url.first { bytes[$0] == UInt8(ascii: "#") } ?? url.upperBound
        let query = url.first { bytes[$0] == UInt8(ascii: "?") || $0 == fragment } ?? url.upperBound

        if redaction.userinfo { findUserinfo(in: url) }
        if redaction.secretPaths {
            found += SecretPath.all(in: bytes, url: url, steps: &steps).map {
                Found(range: $0, name: nil, isPath: true)
            }
        }
        findItems(in: url.lowerBound..<query, separator: UInt8(ascii: "/"), names: redaction.queryItems)
        findItems(in: query..<fragment, separator: UInt8(ascii: "&"), names: redaction.queryItems)
        findItems(in: fragment..<url.upperBound, separator: UInt8(ascii: "&"), names: redaction.queryItems)
    }

    /// Finds the secrets of a form (`application/x-www-form-urlencoded`).
    public mutating func findInForm() {
        findItems(in: bytes.indices, separator: UInt8(ascii: "&"), names: redaction.formNames)
    }

    /// Finds the secrets of the URLs in content in which only the secrets may change.
    ///
    /// A word counts as a URL only if it starts like a URL, since scripts in a page hold many question marks.
    public mutating func findInLinks() {
        for word in bytes.indices.split(whereSeparator: { Self.delimitsLink(bytes[$0]) }) {
            let word = word.startIndex..<word.endIndex
            if word == bytes.indices || startsLink(word) {
                findInURL(word)
            } else if let equals = bytes[word].prefix(16).firstIndex(of: UInt8(ascii: "=")) {
                let value = equals + 1..<word.upperBound
                if startsLink(value) { findInURL(value) }
            }
        }
    }

    private func startsLink(_ word: Range<Int>) -> Bool {
        bytes[word].starts(with: "http".utf8) || bytes[word].first.map { "/?".utf8.contains($0) } ?? false
    }

    private static func delimitsLink(_ byte: UInt8) -> Bool {
        delimits(byte) || "'`()\\".utf8.contains(byte)
    }

    /// Finds the secrets of the URLs in a text that is shown to people, and of words that look like parts of URLs.
    public mutating func findInText() {
        let firstURL = bytes.indices.first { isDoubleSlash(at: $0) }
        let firstDelimiter = bytes.firstIndex(where: Self.delimits)
        if let firstURL, firstURL < firstDelimiter ?? .max {
            // A text that starts with a URL may be one whose secret holds a delimiter.
            findInURL()
            return
        }
        for token in bytes.indices.split(whereSeparator: { Self.delimits(bytes[$0]) }) {
            let token = token.startIndex..<token.endIndex
            let looksLikeURL =
                bytes[token.lowerBound] == UInt8(ascii: "/")
                || token.contains {
                    bytes[$0] == UInt8(ascii: "?") || bytes[$0] == UInt8(ascii: "#") || isDoubleSlash(at: $0)
                }
            if looksLikeURL { findInURL(token) }
        }
    }

    private static func delimits(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "\"")
    }

    func isDoubleSlash(at index: Int) -> Bool {
        bytes[index] == UInt8(ascii: "/") && index + 1 < bytes.count && bytes[index + 1] == UInt8(ascii: "/")
    }
}
