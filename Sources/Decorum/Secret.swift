/// A text that no description and no reflection shows.
struct Secret: Sendable {
    let value: String
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "redacted" }

    var debugDescription: String { description }

    // `dump` walks the mirror, whatever the descriptions say.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
