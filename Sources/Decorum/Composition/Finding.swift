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
    package enum Move: Sendable, Hashable {
        case inside(of: LayerPlace)
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
    /// The new place of the first of the layers; nil if another change mends the stack.
    package let move: Move?

    /// The severity, the hazard, the numbers of the layers in a printed connection, the consequence and the change.
    public var description: String {
        let numbers = places.map(\.number).sorted().map(String.init)
        return "\(severity), \(hazard), \(numbers.count == 1 ? "layer" : "layers") \(numbers.listed): "
            + "\(consequence) \(change)"
    }

    /// A finding about a layer that a new setting, or another layer, mends.
    init(
        _ hazard: Hazard, _ severity: Severity, _ node: LayerTree.Node, _ others: [LayerTree.Node],
        _ consequence: String, change: String
    ) {
        (self.hazard, self.severity, places) = (hazard, severity, [node.place] + others.map(\.place))
        (self.consequence, self.change) = (node.naming(others, in: consequence), node.naming(others, in: change))
        move = nil
    }

    /// A finding about a layer that a new place of it mends.
    init(
        _ hazard: Hazard, _ severity: Severity, moving node: LayerTree.Node, to move: Move,
        because others: [LayerTree.Node], _ consequence: String
    ) {
        (self.hazard, self.severity, places) = (hazard, severity, [node.place] + others.map(\.place))
        (self.consequence, self.move) = (node.naming(others, in: consequence), move)
        switch move {
        case .inside(let other):
            change = "Move \(node.name) inside of \(other.name): its line belongs above the line of \(other.name)."
        case .outside(let other):
            change = "Move \(node.name) outside of \(other.name): its line belongs below the line of \(other.name)."
        }
    }
}

/// A kind of mistake in the order or the settings of layers, as in `"unlimitedCall"`.
///
/// The names are stable, so that an acceptance and a report can refer to them. <doc:composing-a-stack> lists them all.
public struct Hazard: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name, as a finding shows it.
    public let description: String

    /// Creates a hazard from its name.
    public init(stringLiteral name: String) {
        description = name
    }
}

/// A layer at its place in a stack.
public struct LayerPlace: Sendable, Hashable, CustomStringConvertible {
    /// The number of the layer in a printed connection, from 1 for the outermost; the layers of a branch follow the layer
    /// that has the branch.
    public let number: Int
    /// The layer.
    public let layer: Layer
    /// Whether the stack has another layer of that name.
    let hasNamesake: Bool

    /// The number and the layer.
    public var description: String { "\(number) \(layer)" }

    /// The name in code font, with the number if the stack has another layer of that name.
    var name: String { "`\(layer.name)`" + (hasNamesake ? " (layer \(number))" : "") }
}

extension Sequence<String> {
    /// The members as in “a, b and c”.
    var listed: String {
        let members = Array(self)
        guard let last = members.last, members.count > 1 else { return members.first ?? "" }
        return members.dropLast().joined(separator: ", ") + " and " + last
    }
}
