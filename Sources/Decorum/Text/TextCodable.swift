/// A value that is coded as its description.
protocol TextCodable: Codable, CustomStringConvertible {
    init(_ text: String) throws
}

extension TextCodable {
    /// Reads the value from its description.
    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the description.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

// The methods that the compiler writes for a type of this module call these, so that its durations are numbers of seconds.
extension KeyedEncodingContainer {
    mutating func encode(_ duration: Duration, forKey key: Key) throws {
        try encode(duration.bounded / .seconds(1), forKey: key)
    }

    mutating func encodeIfPresent(_ duration: Duration?, forKey key: Key) throws {
        if let duration { try encode(duration, forKey: key) }
    }
}

extension KeyedDecodingContainer {
    func decode(_: Duration.Type, forKey key: Key) throws -> Duration {
        let seconds = try decode(Double.self, forKey: key)
        // A number such as 0.1 is not exact, so the nearest nanosecond counts.
        guard let nanoseconds = Int64(exactly: (seconds * 1e9).rounded()) else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "The duration is too long.")
        }
        return .nanoseconds(nanoseconds)
    }

    func decodeIfPresent(_: Duration.Type, forKey key: Key) throws -> Duration? {
        try contains(key) && !decodeNil(forKey: key) ? decode(Duration.self, forKey: key) : nil
    }
}
