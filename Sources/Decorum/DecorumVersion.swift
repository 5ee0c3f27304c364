/// The version of this package.
public enum DecorumVersion: Sendable {
    /// The version, by the rules of semantic versioning.
    public static let current = "0.1.0"
}
