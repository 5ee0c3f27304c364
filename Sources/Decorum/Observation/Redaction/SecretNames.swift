/// A set of names whose values are secret, compared without regard to how they are spelled.
///
/// Letter case, blanks, hyphens and underscores do not count: `access_token` also stands for `accessToken` and
/// `Access-Token`. In a name with parts, such as `user[password]` or `user.password`, each part counts.
public struct SecretNames: Sendable, Hashable {
    private var names: Set<String>

    /// Creates a set of names.
    ///
    /// - Parameter names: The names, in any spelling.
    public init(_ names: some Sequence<String>) {
        self.names = Set(names.map { Self.normalized($0.utf8) })
    }

    /// Adds a name.
    ///
    /// - Parameter name: The name, in any spelling.
    public mutating func insert(_ name: String) {
        names.insert(Self.normalized(name.utf8))
    }

    /// Removes a name.
    ///
    /// - Parameter name: The name, in any spelling.
    public mutating func remove(_ name: String) {
        names.remove(Self.normalized(name.utf8))
    }

    /// Tells whether a name, or a part of it, is in the set.
    ///
    /// - Parameter name: The name, in any spelling.
    /// - Returns: Whether its value is secret.
    public func contains(_ name: String) -> Bool {
        contains(Array(name.utf8))
    }

    /// Whether there are no names.
    public var isEmpty: Bool { names.isEmpty }

    func contains(_ name: [UInt8]) -> Bool {
        guard !names.isEmpty else { return false }
        return names.contains(Self.normalized(name))
            || name.contains(where: Self.separates)
                && name.split(whereSeparator: Self.separates).contains { names.contains(Self.normalized($0)) }
    }

    private static func separates(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]") || byte == UInt8(ascii: ".")
    }

    /// Gives all spellings of a name one form.
    static func normalized(_ name: some Collection<UInt8>) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(name.count)
        var isASCII = true
        for byte in name {
            switch byte {
            case 0x20, UInt8(ascii: "-"), UInt8(ascii: "_"): continue
            case 0x41...0x5A: bytes.append(byte | 0x20)
            default: bytes.append(byte)
            }
            isASCII = isASCII && byte < 0x80
        }
        // A name of nothing but these characters keeps them, or it would stand for every other such name.
        let normalized = String(decoding: bytes.isEmpty ? Array(name) : bytes, as: UTF8.self)
        return isASCII ? normalized : normalized.lowercased()
    }
}

extension SecretNames: ExpressibleByArrayLiteral {
    /// Creates a set of names.
    ///
    /// - Parameter elements: The names, in any spelling.
    public init(arrayLiteral elements: String...) {
        self.init(elements)
    }
}
