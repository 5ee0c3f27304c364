/// The answer to a caller of ``Connection/revalidating(in:answering:clock:)`` when the server answers `304 Not
/// Modified`.
public enum NotModifiedAnswer: Sendable, Hashable {
    /// The stored response with refreshed fields; its source is ``ResponseMetadata/Source/revalidated``.
    case storedResponse
    /// The `304` itself, with the stored response in ``ResponseMetadata/storedResponse``.
    case notModified
}

extension ResponseMetadata {
    /// The stored response that a `304` has confirmed, with refreshed fields.
    public var storedResponse: StoredResponse? {
        get { self[StoredResponseKey.self] }
        set { self[StoredResponseKey.self] = newValue }
    }
}

private enum StoredResponseKey: ResponseMetadataKey {
    static let defaultValue: StoredResponse? = nil
}
