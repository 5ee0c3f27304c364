import HTTPTypes

/// The name of the file of a stored response: the digests of its key, by which files are found without being listed or
/// opened, and its position among the files of the key.
struct ResponseFileName: Sendable, Hashable {
    let digest: ResponseKeyDigest
    /// The position: the first file of a key has 0, and says how many files there are.
    let index: Int

    /// The folder of the file, one of ``ResponseDirectory/folderCount``.
    var folder: Int { digest.folder }
}

extension ResponseFileName {
    // Four numbers of 16 digits, and one of 2.
    static let length = 66

    /// The name as a text in hexadecimal digits.
    var text: String {
        unsafe String(unsafeUninitializedCapacity: Self.length) { buffer in
            unsafe Self.write(digest.uri.0, buffer, 0..<16)
            unsafe Self.write(digest.uri.1, buffer, 16..<32)
            unsafe Self.write(digest.key, buffer, 32..<48)
            unsafe Self.write(digest.principal, buffer, 48..<64)
            unsafe Self.write(UInt64(index), buffer, 64..<66)
            return Self.length
        }
    }

    private static func write(_ number: UInt64, _ buffer: UnsafeMutableBufferPointer<UInt8>, _ places: Range<Int>) {
        var rest = number
        // The places stay below the requested length of the buffer.
        for place in places.reversed() {
            let digit = UInt8(truncatingIfNeeded: rest) & 15
            unsafe buffer[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            rest >>= 4
        }
    }

    /// Reads a name; nil for the name of a file that the store did not write.
    init?(_ text: UnsafeBufferPointer<UInt8>) {
        guard text.count == Self.length else { return nil }
        var numbers: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)
        guard unsafe Self.read(text, 0..<16, &numbers.0), unsafe Self.read(text, 16..<32, &numbers.1),
            unsafe Self.read(text, 32..<48, &numbers.2), unsafe Self.read(text, 48..<64, &numbers.3),
            unsafe Self.read(text, 64..<66, &numbers.4)
        else { return nil }
        digest = ResponseKeyDigest(uri: (numbers.0, numbers.1), key: numbers.2, principal: numbers.3)
        index = Int(numbers.4)
    }

    private static func read(_ text: UnsafeBufferPointer<UInt8>, _ places: Range<Int>, _ number: inout UInt64) -> Bool {
        for place in places {
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
struct ResponseKeyDigest: Sendable, Hashable {
    let uri: (UInt64, UInt64)
    let key: UInt64
    let principal: UInt64

    init(uri: (UInt64, UInt64), key: UInt64, principal: UInt64) {
        self.uri = uri
        self.key = key
        self.principal = principal
    }

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

    static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.uri == rhs.uri && lhs.key == rhs.key && lhs.principal == rhs.principal
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(uri.0)
        hasher.combine(key)
        hasher.combine(principal)
    }

    /// The folder of the files, one of ``ResponseDirectory/folderCount``.
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

    /// The digest of the fields that selected a response, which its variants differ in.
    static func digest(ofVariant response: StoredResponse) -> UInt64 {
        var checksum = Checksum(seed: 3)
        if response.vary.isAny { checksum.add(1) }
        for name in response.vary.names.sorted(by: { $0.canonicalName < $1.canonicalName }) {
            checksum.add(name.canonicalName)
            for field in response.selectingFields where field.name == name { checksum.add(field.value) }
        }
        return checksum.value
    }
}
