/// The layers of a stack, with the findings about them and the layers of which nothing is known.
///
/// ```swift
/// print(connection.composition)
/// // error        1 authenticating(with: signer, for: https://api.example.com)
/// // error        2 retrying(retries: 3)
/// // …
/// ```
///
/// See <doc:checking-a-stack>.
public struct Composition: Sendable {
    /// The layers, outermost first.
    public let layers: [Layer]
    /// The findings, without those of accepted hazards, most serious first.
    public let findings: [Finding]
    /// The layers of which the check does not know whether they are at the right place: those whose authors have declared
    /// nothing, and those with a closure that may add a credential.
    public let unknownLayers: [LayerPlace]
    /// The hazards that are accepted, with the reasons.
    public let accepted: [Hazard: String]
    /// All rules, in the order in which their findings are shown.
    private static let rules =
        CompositionRule.credentials + CompositionRule.hosts + CompositionRule.signatures + CompositionRule.retries
        + CompositionRule.deadlines + CompositionRule.fields + CompositionRule.caching + CompositionRule.observation
        + CompositionRule.testing
    private let tree: LayerTree
    private let allFindings: [Finding]

    /// Checks the layers of a connection.
    ///
    /// - Parameter layers: The layers, outermost first.
    public init(of layers: [Layer]) {
        let tree = LayerTree(layers)
        var findings = Self.rules.flatMap { $0.findings(tree) }
        findings += RepetitionRules.findings(in: tree, beside: findings)
        self.init(layers, tree, findings, accepting: [:])
    }

    private init(_ layers: [Layer], _ tree: LayerTree, _ findings: [Finding], accepting accepted: [Hazard: String]) {
        self.layers = layers
        self.tree = tree
        self.accepted = accepted
        allFindings = findings
        let found = Set(findings.map(\.hazard)).union([.needlessAcceptance])
        let needless = accepted.keys.filter { accepted[.needlessAcceptance] == nil && !found.contains($0) }
            .sorted { $0.name < $1.name }.map(Finding.needless)
        let remaining = findings.filter { accepted[$0.hazard] == nil } + needless
        // Rules have an order of their own, which the sort keeps among equals.
        self.findings = Finding.Severity.allCases.reversed().flatMap { severity in
            remaining.filter { $0.severity == severity }
        }
        unknownLayers = tree.nodes.map(\.place).filter { $0.layer.isUnknown }
    }

    /// The composition without the findings about hazards that are intended, for the given reasons.
    ///
    /// ```swift
    /// let composition = connection.composition.accepting([.unlimitedCall: "The job that calls has a deadline."])
    /// ```
    ///
    /// A hazard that the stack does not have becomes the finding ``Hazard/needlessAcceptance``, unless that is accepted too,
    /// as where several stacks have one list of reasons.
    ///
    /// - Parameter reasons: The hazards, each with the reason.
    /// - Returns: The composition with the other findings.
    public func accepting(_ reasons: [Hazard: String]) -> Composition {
        Composition(layers, tree, allFindings, accepting: accepted.merging(reasons) { $1 })
    }

    /// The composition without the findings about a hazard that is intended.
    ///
    /// - Parameters:
    ///   - hazard: The hazard.
    ///   - reason: The reason.
    /// - Returns: The composition with the other findings.
    public func accepting(_ hazard: Hazard, because reason: String) -> Composition {
        accepting([hazard: reason])
    }

    /// The layers, one a line, outermost first; the layers of a branch are indented.
    ///
    /// A layer of a finding is marked with the severity, and one of which nothing is known with `unknown`.
    public var markedLayers: String {
        let width = "information".count
        return tree.nodes.flatMap { node in
            let mark = mark(of: node.place)
            let indentation = String(repeating: "    ", count: node.depth)
            let number =
                String(repeating: " ", count: max(0, 3 - "\(node.place.number)".count)) + "\(node.place.number)"
            let line = mark + String(repeating: " ", count: width - mark.count) + number + " " + indentation
            let heading = node.branch.map {
                [String(repeating: " ", count: width + 4) + indentation.dropLast(2) + "\($0):"]
            }
            return (heading ?? []) + [line + node.layer.ownDescription]
        }.joined(separator: "\n")
    }

    private func mark(of place: LayerPlace) -> String {
        let severity = findings.filter { $0.places.contains(place) }.map(\.severity).max()
        return severity?.description ?? (place.layer.isUnknown ? "unknown" : "")
    }
}

extension Composition: CustomStringConvertible, CustomDebugStringConvertible {
    /// The marked layers, and below them the findings, the unknown layers and the accepted hazards.
    public var description: String {
        let unknown = unknownLayers.map { "unknown, layer \($0.number): \($0.unknownEffects)" }
        let accepted = accepted.sorted { $0.key.name < $1.key.name }.map { "accepted, \($0.key): \($0.value)" }
        let notes = findings.map(\.description) + unknown + accepted
        return ([markedLayers] + (notes.isEmpty ? ["No findings."] : notes)).joined(separator: "\n")
    }

    /// The same as the description.
    public var debugDescription: String { description }
}

extension Finding {
    /// An acceptance of a hazard that the stack does not have.
    fileprivate static func needless(_ hazard: Hazard) -> Finding {
        Finding(
            hazard: .needlessAcceptance, severity: .information, places: [],
            consequence: "The hazard `\(hazard)` is accepted, and the stack does not have it.",
            change: "Remove the acceptance, so that it hides no later mistake.", move: nil)
    }
}

extension LayerPlace {
    /// What is not known of the layer, and how to tell it.
    fileprivate var unknownEffects: String {
        layer.isDeclared
            ? "the closure of \(quotedName) may add a credential, which the check cannot see. Pass `secretFields:` with the "
                + "fields that hold one, or `secretFields: []` if it adds none."
            : "\(quotedName) declares nothing, so the check cannot tell whether its place is right. Declare its effects in "
                + "`layer`, or for a closure by `facts:`, and `secretFields:` if it adds a credential; `facts: []` if it has "
                + "none of these effects."
    }
}

extension Layer {
    /// Whether the check does not know all effects.
    fileprivate var isUnknown: Bool { !isDeclared || has(.mayAddCredentials) }

    /// The name and the settings, without the branches.
    fileprivate var ownDescription: String {
        let settings = settings.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
        return settings.isEmpty ? name : "\(name)(\(settings))"
    }
}

extension Connection {
    /// The layers, outermost first, and the number of findings, which ``composition`` shows.
    public var description: String {
        let count = findings.count
        guard count > 0 else { return "\(layers)" }
        return "\(layers) with \(count == 1 ? "a finding" : "\(count) findings"); print its `composition`"
    }

    /// The layers of the connection with what the check of their order and settings finds.
    ///
    /// `print(connection.composition)` shows the stack, marks the layers concerned, and lists the findings.
    public var composition: Composition { Composition(of: layers) }

    /// The mistakes in the stack that its layers show, most serious first.
    ///
    /// See ``Composition`` for the layers of which nothing is known.
    public var findings: [Finding] { composition.findings }
}
