extension StandardStack {
    /// A part of the stack.
    ///
    /// The cases are in the order in which a request passes the parts, the outermost first.
    public enum Part: String, Sendable, Hashable, CaseIterable {
        /// ``Connection/validatingStatus(_:clock:)``
        case statusValidation
        /// ``Connection/observing(_:as:clock:generator:)`` of calls
        case callObservation
        /// ``Connection/logging(to:detail:redacting:clock:)`` of calls
        case callLog
        /// ``Connection/limitingTime(_:clock:)``
        case callTime
        /// ``Connection/addingIdempotencyKey(to:generator:)``
        case idempotencyKeys
        /// ``Connection/addingRequestID(as:generator:)``
        case requestIDs
        /// ``Connection/acting(for:)``
        case principal
        /// ``Connection/resolving(against:)``
        case baseURL
        /// ``Connection/identifyingClient(as:)``, ``Connection/acceptingLanguages(_:)`` and default fields
        case fields
        /// ``Connection/followingRedirects(upTo:policy:remembering:clock:)``
        case redirects
        /// ``Connection/decompressing(_:)``
        case decompression
        /// ``Connection/caching(in:policy:clock:spawner:)``
        case caching
        /// ``Connection/coalescing(_:clock:spawner:)``
        case coalescing
        /// ``Connection/retrying(_:clock:generator:)``
        case retries
        /// ``Connection/pacing(_:in:clock:generator:)``
        case pacing
        /// ``Connection/limitingTime(_:as:clock:)``
        case attemptTime
        /// ``Connection/compressing(_:clock:)``
        case compression
        /// ``Connection/authenticating(with:for:_:)`` and ``Connection/authenticating(from:for:_:clock:)``
        case authentication
        /// ``Connection/observing(_:as:clock:generator:)`` of attempts
        case attemptObservation
        /// ``Connection/logging(to:detail:redacting:clock:)`` of the requests that are sent
        case wireLog
    }

    /// A layer of your own, and its place in the stack.
    ///
    /// ```swift
    /// let connection = try StandardStack(for: "https://api.example.com/v1/").composed(adding: [
    ///     .outside(of: .caching) { $0.answeringOffline(from: memory) },
    ///     .inPlace(of: .retries) { $0.retrying(RetryPolicy(when: .standard || .status(403))) },
    /// ])
    /// ```
    ///
    /// A place exists even where its part is left out. Of several layers at one place, the last one is the outermost, as with
    /// modifiers.
    public struct Addition: Sendable {
        enum Place: Sendable, Hashable {
            case outside(Part)
            case inside(Part)
            case inPlace(Part)
        }

        let place: Place
        let wrap: @Sendable (any Connection) throws -> any Connection

        /// The part that the layer replaces; nil where it stands beside the parts.
        var replacedPart: Part? { if case .inPlace(let part) = place { part } else { nil } }

        /// A layer that sees a request directly before a part does.
        ///
        /// - Parameters:
        ///   - part: The part.
        ///   - wrap: Applies the modifier of the layer to the rest of the stack.
        /// - Returns: The layer with its place.
        public static func outside(
            of part: Part, _ wrap: @escaping @Sendable (_ base: any Connection) throws -> any Connection
        ) -> Addition {
            Addition(place: .outside(part), wrap: wrap)
        }

        /// A layer that sees a request directly after a part has.
        ///
        /// - Parameters:
        ///   - part: The part.
        ///   - wrap: Applies the modifier of the layer to the rest of the stack.
        /// - Returns: The layer with its place.
        public static func inside(
            of part: Part, _ wrap: @escaping @Sendable (_ base: any Connection) throws -> any Connection
        ) -> Addition {
            Addition(place: .inside(part), wrap: wrap)
        }

        /// A layer instead of the part, whose settings are then neither used nor checked.
        ///
        /// The base URL still names the origin of credentials. Composing is refused where something is passed for the part,
        /// such as a store for ``StandardStack/Part/caching``.
        ///
        /// - Parameters:
        ///   - part: The part.
        ///   - wrap: Applies the modifier of the layer to the rest of the stack.
        /// - Returns: The layer with its place.
        public static func inPlace(
            of part: Part, _ wrap: @escaping @Sendable (_ base: any Connection) throws -> any Connection
        ) -> Addition {
            Addition(place: .inPlace(part), wrap: wrap)
        }

        /// A layer outside of all parts, which sees each call.
        ///
        /// - Parameter wrap: Applies the modifier of the layer to the whole stack.
        /// - Returns: The layer with its place.
        public static func aroundCall(
            _ wrap: @escaping @Sendable (_ base: any Connection) throws -> any Connection
        ) -> Addition {
            .outside(of: .statusValidation, wrap)
        }

        /// A layer inside of retries, which sees each attempt.
        ///
        /// - Parameter wrap: Applies the modifier of the layer to the rest of the stack.
        /// - Returns: The layer with its place.
        public static func aroundAttempt(
            _ wrap: @escaping @Sendable (_ base: any Connection) throws -> any Connection
        ) -> Addition {
            .inside(of: .retries, wrap)
        }

        /// A layer inside of all parts, which sees each request as it is sent.
        ///
        /// - Parameter wrap: Applies the modifier of the layer to the transport.
        /// - Returns: The layer with its place.
        public static func nearTransport(
            _ wrap: @escaping @Sendable (_ base: any Connection) throws -> any Connection
        ) -> Addition {
            .inside(of: .wireLog, wrap)
        }
    }
}
