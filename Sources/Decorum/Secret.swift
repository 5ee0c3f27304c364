/// A value that no description and no reflection shows.
struct Secret<Value: Sendable>: Sendable {
    let value: Value
}

extension Secret: SecretHolder {
    var description: String { "redacted" }
}
