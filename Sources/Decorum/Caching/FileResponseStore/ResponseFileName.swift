import HTTPTypes

/// The name of the file of a stored response: only digests, by which files are found without being opened.
struct ResponseFileName: Sendable, Hashable, Comparable {
    private let uri: (UInt64, UInt64)
    private let key: UInt64
    private let principal: UInt64
    private let variant: UInt64

    /// The name of a response under a key.
    init(_ response: StoredResponse, key: ResponseKey) {
        let digest = ResponseKeyDigest(key)
        uri = digest.uri
        self.key = digest.key
        principal = digest.principal
        variant = Self.digest(ofVariant: response)
    }

    private static func digest(ofVariant response: StoredResponse) -> UInt64 {
        let vary = Vary(response.head.headerFields)
        var checksum = Checksum(seed: 3)
        if vary.isAny { checksum.add(1) }
        for name in vary.names.sorted(by: { $0.canonicalName < $1.canonicalName }) {
            checksum.add(name.canonicalName)
            for field in response.selectingFields where field.name == name { checksum.add(field.value) }
        }
        return checksum.value
    }

    /// The folder of the file, one of ``ResponseFolders/count``.
    var folder: Int { Int(uri.0 >> 56) }

    func isOf(_ digest: ResponseKeyDigest) -> Bool {
        isAt(digest) && key == digest.key && principal == digest.principal
    }

    func isAt(_ digest: ResponseKeyDigest) -> Bool {
        uri == digest.uri
    }

    func isOf(principal digest: UInt64) -> Bool {
        principal == digest
    }

    /// Whether the name comes before all those of a URI, in the order of names.
    func isBefore(_ digest: ResponseKeyDigest) -> Bool {
        uri < digest.uri
    }

    static func < (lhs: Self, rhs: Self) -> Bool {
        (lhs.uri.0, lhs.uri.1, lhs.key, lhs.principal, lhs.variant)
            < (rhs.uri.0, rhs.uri.1, rhs.key, rhs.principal, rhs.variant)
    }

    static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.uri == rhs.uri && lhs.key == rhs.key && lhs.principal == rhs.principal && lhs.variant == rhs.variant
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(uri.0)
        hasher.combine(key)
        hasher.combine(principal)
        hasher.combine(variant)
    }
}

extension ResponseFileName {
    // Five numbers of 16 digits.
    static let length = 80

    /// The name as a text in hexadecimal digits.
    var text: String {
        unsafe String(unsafeUninitializedCapacity: Self.length) { buffer in
            unsafe Self.write(uri.0, buffer, 0)
            unsafe Self.write(uri.1, buffer, 16)
            unsafe Self.write(key, buffer, 32)
            unsafe Self.write(principal, buffer, 48)
            unsafe Self.write(variant, buffer, 64)
            return Self.length
        }
    }

    private static func write(_ number: UInt64, _ buffer: UnsafeMutableBufferPointer<UInt8>, _ start: Int) {
        var rest = number
        // The places stay below the requested length of the buffer.
        for place in (start..<start + 16).reversed() {
            let digit = UInt8(truncatingIfNeeded: rest) & 15
            unsafe buffer[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            rest >>= 4
        }
    }

    /// Reads a name; nil for the name of a file that the store did not write.
    init?(_ text: UnsafeBufferPointer<UInt8>) {
        guard text.count == Self.length else { return nil }
        var numbers: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)
        guard unsafe Self.read(text, 0, &numbers.0), unsafe Self.read(text, 16, &numbers.1),
            unsafe Self.read(text, 32, &numbers.2), unsafe Self.read(text, 48, &numbers.3),
            unsafe Self.read(text, 64, &numbers.4)
        else { return nil }
        uri = (numbers.0, numbers.1)
        key = numbers.2
        principal = numbers.3
        variant = numbers.4
    }

    private static func read(_ text: UnsafeBufferPointer<UInt8>, _ start: Int, _ number: inout UInt64) -> Bool {
        for place in start..<start + 16 {
            // Below the length, which was checked.
            let digit: UInt8
            switch unsafe text[place] {
            case let byte where byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"):
                digit = byte - UInt8(ascii: "0")
            case let byte where byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f"):
                digit = byte - UInt8(ascii: "a") + 10
            default: return false
            }
            number = number << 4 | UInt64(digit)
        }
        return true
    }
}

/// The digests of a key, which are the beginnings of the names of its files.
struct ResponseKeyDigest: Sendable {
    let uri: (UInt64, UInt64)
    let key: UInt64
    let principal: UInt64

    init(_ key: ResponseKey) {
        uri = Self.digest(of: key.uri)
        principal = Self.digest(of: key.principal)
        var checksum = Checksum(seed: 2)
        checksum.add(key.method.rawValue)
        for field in key.credentials {
            checksum.add(field.name.canonicalName)
            checksum.add(field.value)
        }
        self.key = checksum.value
    }

    init(_ uri: ResponseKey.URI) {
        self.uri = Self.digest(of: uri)
        key = 0
        principal = 0
    }

    /// The folder of the files, one of ``ResponseFolders/count``.
    var folder: Int { Int(uri.0 >> 56) }

    private static func digest(of uri: ResponseKey.URI) -> (UInt64, UInt64) {
        (digest(of: uri, seed: 0), digest(of: uri, seed: 1))
    }

    private static func digest(of uri: ResponseKey.URI, seed: UInt64) -> UInt64 {
        var checksum = Checksum(seed: seed)
        checksum.add(uri.scheme)
        checksum.add(uri.authority)
        checksum.add(uri.path)
        return checksum.value
    }

    static func digest(of principal: Principal?) -> UInt64 {
        guard let principal else { return 0 }
        var checksum = Checksum(seed: 4)
        checksum.add(principal.name)
        return checksum.value
    }
}
