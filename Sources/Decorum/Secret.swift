/// A value that no description and no reflection shows.
struct Secret<Value: Sendable>: Sendable {
    let value: Value
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "redacted" }

    var debugDescription: String { description }

    // `dump` shows the mirror and ignores the descriptions.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
