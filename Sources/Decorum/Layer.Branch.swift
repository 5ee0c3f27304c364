extension Layer {
    /// The largest value of a number, or the statement that there is no largest one.
    public enum Bound<Value: Sendable & Hashable & Comparable>: Sendable, Hashable {
        /// The value is not exceeded.
        case atMost(Value)
        /// There is no bound.
        case unbounded

        /// Returns whether the bound allows a value.
        ///
        /// - Parameter value: The value.
        /// - Returns: Whether it is not above the bound.
        public func allows(_ value: Value) -> Bool {
            guard case .atMost(let limit) = self else { return true }
            return value <= limit
        }
    }

    /// The identity of state that several layers may share: two layers with an equal identity use the same state.
    ///
    /// It tells nothing once the state is released.
    public struct StateIdentity: Sendable, Hashable {
        private enum Identifier: Sendable, Hashable {
            case object(ObjectIdentifier)
            case name(String)
        }

        private let identifier: Identifier

        /// Creates the identity of an object.
        ///
        /// - Parameter object: The state, such as a store or a budget.
        public init(_ object: AnyObject) {
            identifier = .object(ObjectIdentifier(object))
        }

        /// Creates the identity of state outside of the process.
        ///
        /// - Parameter name: A name that no other state has, such as the path of a directory.
        public init(named name: String) {
            identifier = .name(name)
        }

        /// Creates the identity of a value that may be an object; nil for any other value, which shares nothing.
        init?(of value: some Any) {
            guard type(of: value) is AnyClass else { return nil }
            self.init(value as AnyObject)
        }
    }

    /// A connection beside the base of a layer: a route, a fallback, or the stack of a refresh.
    public struct Branch: Sendable, Hashable {
        /// The name of the branch, as in `"fallback"`.
        public let name: String
        /// The layers of the branch, outermost first.
        public let layers: [Layer]
        /// Whether requests of the caller take this way; false where the layer only sends requests of its own.
        public let carriesRequests: Bool

        /// Creates a branch.
        ///
        /// - Parameters:
        ///   - name: The name.
        ///   - layers: The layers, outermost first.
        ///   - carriesRequests: Whether requests of the caller take this way.
        public init(_ name: String, _ layers: [Layer], carriesRequests: Bool = true) {
            self.name = name
            self.layers = layers
            self.carriesRequests = carriesRequests
        }
    }
}
