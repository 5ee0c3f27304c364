public import Foundation

/// The content of a recorded request or response.
public struct RecordedBody: Sendable, Hashable {
    /// The exactness of the bytes, compared with those that were transferred.
    public enum Exactness: String, Sendable, Hashable, Comparable {
        /// The bytes are the same, except for a content coding.
        case exact
        /// The bytes have the same meaning: the format kept the JSON value and not its text.
        case reserialized
        /// The format lost some of the bytes.
        case lossy

        /// Whether one is more exact than the other.
        public static func < (lhs: Self, rhs: Self) -> Bool {
            lhs.distance < rhs.distance
        }

        private var distance: Int {
            switch self {
            case .exact: 0
            case .reserialized: 1
            case .lossy: 2
            }
        }
    }

    /// The content.
    public var bytes: Data
    /// The exactness of the bytes, compared with those that were transferred.
    public var exactness: Exactness

    /// Creates a body.
    ///
    /// - Parameters:
    ///   - bytes: The content.
    ///   - exactness: The exactness of the bytes, compared with those that were transferred.
    public init(_ bytes: Data = Data(), exactness: Exactness = .exact) {
        self.bytes = bytes
        self.exactness = exactness
    }
}
