/// Something that goes wrong in a stack, found in its layers before the first request.
///
/// ```swift
/// for finding in connection.findings { print(finding) }
/// // error, signatureOutsideOfRetries, layers 1 and 2: …
/// ```
public struct Finding: Sendable, Hashable, CustomStringConvertible {
    /// The seriousness of a finding.
    public enum Severity: Int, Sendable, Hashable, Comparable, CaseIterable, CustomStringConvertible {
        /// The stack works; something is left unused or unseen.
        case information
        /// The stack works worse than its layers promise, or only under a condition that the layers do not show.
        case warning
        /// The stack gives wrong results, repeats effects, or passes secrets on.
        case error

        /// Whether one severity is less serious than another.
        public static func < (one: Severity, other: Severity) -> Bool { one.rawValue < other.rawValue }

        /// The name of the severity.
        public var description: String {
            switch self {
            case .information: "information"
            case .warning: "warning"
            case .error: "error"
            }
        }
    }

    /// A new place of a layer.
    public enum Move: Sendable, Hashable {
        /// The place right inside of another layer.
        case inside(of: LayerPlace)
        /// The place right outside of another layer.
        case outside(of: LayerPlace)
    }

    /// The kind of mistake.
    public let hazard: Hazard
    /// The seriousness.
    public let severity: Severity
    /// The layers concerned: first the one at the wrong place or with the wrong setting, then the others from the outside
    /// in.
    public let places: [LayerPlace]
    /// The thing that goes wrong, in a sentence.
    public let consequence: String
    /// The change that mends the stack, in a sentence.
    public let change: String
    /// The new place of the first of the layers; nil where another change mends the stack.
    public let move: Move?

    /// The severity, the hazard, the numbers of the layers in ``Composition/description``, the consequence and the change.
    public var description: String {
        let numbers = places.map(\.number).sorted().map(String.init)
        let layers = numbers.isEmpty ? "" : ", \(numbers.count == 1 ? "layer" : "layers") \(numbers.listed)"
        return "\(severity), \(hazard)\(layers): \(consequence) \(change)"
    }
}

extension Finding {
    /// A finding that moving a layer mends.
    init(
        _ hazard: Hazard, _ severity: Severity, moving place: LayerPlace, to move: Move, because others: [LayerPlace],
        consequence: String
    ) {
        let name = place.quotedName
        let change =
            switch move {
            case .inside(let other):
                "Move \(name) inside of \(other.quotedName): its line belongs above that of "
                    + "\(other.quotedName)."
            case .outside(let other):
                "Move \(name) outside of \(other.quotedName): its line belongs below that of "
                    + "\(other.quotedName)."
            }
        self.init(
            hazard: hazard, severity: severity, places: [place] + others, consequence: consequence, change: change,
            move: move)
    }
}

/// A layer at its place in a stack.
public struct LayerPlace: Sendable, Hashable, CustomStringConvertible {
    /// The number of the layer in ``Composition/description``, from 1 for the outermost; the layers of a branch follow the
    /// layer that has the branch.
    public let number: Int
    /// The layer.
    public let layer: Layer
    /// Whether the stack has another layer of that name.
    let hasNamesake: Bool

    /// The number and the layer.
    public var description: String { "\(number) \(layer)" }

    /// The name in code font, with the number where it is needed to tell layers apart.
    var quotedName: String { "`\(layer.name)`" + (hasNamesake ? " (layer \(number))" : "") }
}
