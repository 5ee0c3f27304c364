/// The version of this package.
public enum PackageVersion: Sendable {
    /// The version, by the rules of semantic versioning.
    public static let current = "0.1.0"
}
