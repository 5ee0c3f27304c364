import HTTPTypes

/// How a setting stands in a file.
struct SettingsForm<Value>: Sendable {
    /// The values that can be read, as in “a number of seconds”.
    let expected: String
    let read: @Sendable (SettingsValue) -> Value?
    let write: @Sendable (Value) -> SettingsValue
}

extension SettingsForm where Value == Bool {
    static var flag: Self { Self(expected: "true or false", read: \.asFlag, write: SettingsValue.flag) }
}

extension SettingsForm where Value: FixedWidthInteger & Sendable {
    static var count: Self {
        Self(expected: "a whole number") {
            $0.asWhole.flatMap { Value(exactly: $0) }
        } write: {
            .whole(Int(clamping: $0))
        }
    }
}

extension SettingsForm where Value == Double {
    static var number: Self { Self(expected: "a number", read: \.asNumber, write: SettingsValue.number) }
}

extension SettingsForm where Value == String {
    static var text: Self { Self(expected: "a text", read: \.asText, write: SettingsValue.text) }
}

extension SettingsForm where Value == Duration {
    /// Seconds, to the nanosecond.
    static var seconds: Self {
        Self(expected: "a number of seconds") {
            $0.asWhole.map { .seconds($0) } ?? $0.asNumber.flatMap { Duration(settingsSeconds: $0) }
        } write: {
            let (seconds, attoseconds) = min(max($0, .seconds(Int.min)), .seconds(Int.max)).components
            return attoseconds == 0 ? .whole(Int(seconds)) : .number($0.settingsSeconds)
        }
    }
}

extension SettingsForm where Value == ContentCoding {
    static var coding: Self {
        Self(expected: "the name of a coding, such as “gzip”") {
            $0.asText.map { ContentCoding($0) }
        } write: {
            .text($0.name)
        }
    }
}

extension SettingsForm where Value == HTTPField.Name {
    static var fieldName: Self {
        Self(expected: "the name of a field") {
            $0.asText.flatMap { HTTPField.Name($0) }
        } write: {
            .text($0.rawName)
        }
    }
}

extension SettingsForm where Value: CaseIterable & RawRepresentable<String> & Sendable {
    static var choice: Self {
        let names = Value.allCases.map { "“\($0.rawValue)”" }.joined(separator: ", ")
        return Self(expected: "one of the texts \(names)") {
            $0.asText.flatMap { Value(rawValue: $0) }
        } write: {
            .text($0.rawValue)
        }
    }
}

extension SettingsForm {
    /// A list of values in another form.
    static func list<Member>(of form: SettingsForm<Member>) -> Self where Value == [Member] {
        Self(expected: "a list, each member of which is \(form.expected)") { value in
            guard let members = value.asList else { return nil }
            let values = members.compactMap(form.read)
            return values.count == members.count ? values : nil
        } write: { values in
            .list(values.map(form.write))
        }
    }
}

extension Duration {
    fileprivate init?(settingsSeconds seconds: Double) {
        guard let whole = Int64(exactly: seconds.rounded(.down)) else { return nil }
        // A number such as 0.1 is not exact, so the nearest nanosecond counts.
        self = .seconds(whole) + .nanoseconds(Int64(((seconds - Double(whole)) * 1e9).rounded()))
    }

    fileprivate var settingsSeconds: Double {
        guard self == bounded else { return self / .seconds(1) }
        let (seconds, attoseconds) = components
        return Double(seconds * 1_000_000_000 + attoseconds / 1_000_000_000) / 1e9
    }
}
