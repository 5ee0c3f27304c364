extension StandardStack {
    /// The credentials of a stack, and the origins that may see them.
    public struct Authentication: Sendable {
        private enum Source: Sendable {
            case fixed(Credentials)
            case asked(any CredentialSource)
            case applied(Wrap)
        }

        /// Applies a modifier for some origins to the rest of a stack.
        public typealias Wrap =
            @Sendable (_ base: any Connection, _ origins: Set<Origin>, _ clock: any DatedClock) throws -> any Connection

        private let source: Source
        let origins: Set<Origin>

        /// Credentials that are always the same.
        ///
        /// - Parameters:
        ///   - credentials: The credentials.
        ///   - origins: The origins that may see them; empty for that of ``StandardStack/baseURL``.
        /// - Returns: The credentials with their origins.
        public static func with(_ credentials: Credentials, for origins: Set<Origin> = []) -> Authentication {
            Authentication(source: .fixed(credentials), origins: origins)
        }

        /// A source that is asked for the credentials of each attempt.
        ///
        /// - Parameters:
        ///   - source: The source of the credentials.
        ///   - origins: The origins that may see them; empty for that of ``StandardStack/baseURL``.
        /// - Returns: The source with its origins.
        public static func from(_ source: any CredentialSource, for origins: Set<Origin> = []) -> Authentication {
            Authentication(source: .asked(source), origins: origins)
        }

        /// Credentials of a layer of your own.
        ///
        /// ```swift
        /// extension StandardStack.Authentication {
        ///     static func session(_ session: Session) -> Self {
        ///         .applying { base, origins, _ in base.adding(session, for: origins) }
        ///     }
        /// }
        /// ```
        ///
        /// - Parameters:
        ///   - origins: The origins that may see the credentials; empty for that of ``StandardStack/baseURL``.
        ///   - wrap: Applies the modifier of the layer, which sends credentials to the given origins alone.
        /// - Returns: The layer with its origins.
        public static func applying(for origins: Set<Origin> = [], _ wrap: @escaping Wrap) -> Authentication {
            Authentication(source: .applied(wrap), origins: origins)
        }

        func added(
            to base: any Connection, for baseURL: String?, clock: any DatedClock
        ) throws -> any Connection {
            var origins = origins
            if origins.isEmpty, let baseURL { origins = [try BaseURL(baseURL).origin] }
            switch source {
            case .fixed(let credentials): return base.authenticating(with: credentials, for: origins)
            case .asked(let source): return base.authenticating(from: source, for: origins, clock: clock)
            case .applied(let wrap): return try wrap(base, origins, clock)
            }
        }
    }
}
