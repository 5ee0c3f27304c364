import Foundation

extension Connection {
    /// The layers, one a line, with the findings about them.
    public var description: String { composition.description }

    /// Explains the stack: its layers, the findings about them, and the worst case of one call.
    ///
    /// ```swift
    /// print(connection.explain())
    /// ```
    ///
    /// The parts are also there as values: ``layers``, ``findings`` and ``bounds``.
    ///
    /// - Returns: The printed connection, and below it the ``bounds``.
    public func explain() -> String { "\(composition)\n\(bounds)" }

    /// The mistakes in the stack that its layers show, most serious first.
    ///
    /// A layer that declares nothing causes no finding; a printed connection marks it as `unknown`.
    public var findings: [Finding] { composition.findings }

    /// Checks the order and the settings of the layers, once, where the stack is composed.
    ///
    /// ```swift
    /// let connection = try SystemConnection()
    ///     .authenticating(with: .bearer(token), for: api)
    ///     .retrying()
    ///     .followingRedirects()
    ///     .limitingTime()
    ///     .checked()
    /// ```
    ///
    /// It adds no layer, and a request costs nothing more. A finding that is intended is accepted with its reason:
    /// `checked(accepting: ["unlimitedCall": "The job that calls has a deadline."])`. The check knows only what layers
    /// declare.
    ///
    /// - Parameters:
    ///   - lowest: The lowest severity that is refused. By default, warnings and information are not refused;
    ///     ``findings`` has them.
    ///   - reasons: The hazards that are intended, each with the reason.
    /// - Returns: The connection itself.
    /// - Throws: ``CompositionError`` with all findings that are refused.
    public func checked(
        refusing lowest: Finding.Severity = .error, accepting reasons: [Hazard: String] = [:]
    ) throws(CompositionError) -> Self {
        let composition = composition
        let refused = composition.findings.filter { $0.severity >= lowest && reasons[$0.hazard] == nil }
        guard refused.isEmpty else { throw CompositionError(refused: refused, layers: composition.markedLayers) }
        return self
    }

    package var composition: Composition { Composition(of: layers) }
}

/// A stack has findings that were refused.
public struct CompositionError: DescribableError, Sendable {
    /// The findings that were refused, most serious first.
    public let refused: [Finding]
    fileprivate let layers: String

    /// The refused findings, one a line, and the marked layers.
    public var description: String {
        let count = refused.count == 1 ? "a finding" : "\(refused.count) findings"
        return "The check of the stack has \(count):\n"
            + (refused.map(\.description) + [layers]).joined(separator: "\n")
    }
}

/// The layers of a stack, with the findings about them and the layers of which nothing is known.
package struct Composition: Sendable, CustomStringConvertible {
    /// The findings, most serious first.
    package let findings: [Finding]
    private let tree: LayerTree

    package init(of layers: [Layer]) {
        tree = LayerTree(layers)
        let findings = CompositionRule.all.flatMap { [tree] in $0.findings(in: tree) }
        // Rules have an order of their own, which the filters keep among equals.
        self.findings = Finding.Severity.allCases.reversed().flatMap { severity in
            findings.filter { $0.severity == severity }
        }
    }

    /// The layers of which the check does not know whether they are at the right place: layers that declare nothing, and
    /// layers with a closure that may add a credential.
    package var unknownLayers: [LayerPlace] { tree.nodes.map(\.place).filter { $0.layer.isUnknown } }

    /// The layers, one a line, outermost first; the layers of a branch are indented.
    ///
    /// A layer of a finding is marked with the severity, and one of which nothing is known with `unknown`.
    package var markedLayers: String {
        let width = "information".count
        return tree.nodes.flatMap { node in
            let severity = findings.filter { $0.places.contains(node.place) }.map(\.severity).max()
            let mark = severity?.description ?? (node.layer.isUnknown ? "unknown" : "")
            let indentation = String(repeating: "    ", count: node.depth)
            let number = "\(node.place.number)"
            let start = mark + String(repeating: " ", count: width + 3 - mark.count - min(3, number.count)) + number
            let heading = node.branch.map {
                [String(repeating: " ", count: width + 4) + indentation.dropLast(2) + "\($0):"]
            }
            return (heading ?? []) + ["\(start) \(indentation)\(node.layer.ownDescription)"]
        }.joined(separator: "\n")
    }

    /// The marked layers, and below them the findings and the unknown layers.
    package var description: String {
        let unknown = unknownLayers.map { place in
            "unknown, layer \(place.number): "
                + (place.layer.isDeclared
                    ? "\(place.name) may add a credential. Pass `secretFields:` with its fields, or `secretFields: []`."
                    : "\(place.name) declares nothing. Declare its effects in `layer`, or by `facts:` for a closure.")
        }
        let notes = findings.map(\.description) + unknown
        return ([markedLayers] + (notes.isEmpty ? ["No findings."] : notes)).joined(separator: "\n")
    }
}

extension Layer {
    /// Whether the check does not know all effects.
    fileprivate var isUnknown: Bool { !isDeclared || has(.mayAddCredentials) }
}

/// The layers of a stack with the layers of its branches, each with the layers outside of it.
struct LayerTree: Sendable {
    struct Node: Sendable {
        let place: LayerPlace
        /// The indices of the layers that a request passes before this one, outermost first.
        let outer: [Int]
        /// The number of branches that the layer is inside of.
        let depth: Int
        /// The name of the branch whose outermost layer this is.
        let branch: String?
        /// The facts of the layer, its role and what follows from them.
        let facts: Set<Layer.Fact>

        var layer: Layer { place.layer }
        var name: String { place.name }

        func has(_ fact: Layer.Fact) -> Bool { facts.contains(fact) }
    }

    /// The layers, outermost first.
    let layers: [Layer]
    /// All layers, each followed by the layers of its branches.
    private(set) var nodes: [Node] = []

    init(_ layers: [Layer]) {
        self.layers = layers
        let names = layers.flatMap(\.withBranches).map(\.name)
        let shared = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +).filter { $0.value > 1 }
        add(layers, inside: [], depth: 0, branch: nil, namesakes: Set(shared.keys))
    }

    private mutating func add(
        _ layers: [Layer], inside outer: [Int], depth: Int, branch: String?, namesakes: Set<String>
    ) {
        var outer = outer
        for (position, layer) in layers.enumerated() {
            let index = nodes.count
            let place = LayerPlace(number: index + 1, layer: layer, hasNamesake: namesakes.contains(layer.name))
            nodes.append(
                Node(
                    place: place, outer: outer, depth: depth, branch: position == 0 ? branch : nil,
                    facts: Layer.Fact.all(of: layer)))
            for branch in layer.branches {
                // Requests that the layer sends on its own behalf have not passed the layers outside of it.
                let outer = branch.carriesRequests ? outer + [index] : []
                add(branch.layers, inside: outer, depth: depth + 1, branch: branch.name, namesakes: namesakes)
            }
            outer.append(index)
        }
    }

    /// The layers outside of a layer, outermost first.
    func nodes(outsideOf node: Node) -> [Node] { node.outer.map { nodes[$0] } }

    /// The layers inside of a layer, also on its branches, from the outside in.
    func nodes(insideOf node: Node) -> [Node] {
        let index = node.place.number - 1
        return nodes.filter { $0.outer.contains(index) }
    }

    /// The layers of the branches through which a layer sends requests of its own, with the branches of those layers.
    func ownRequests(of node: Node) -> [Node] {
        let begins = node.layer.branches.filter { !$0.carriesRequests }.map(\.name)
        var isOwn = false
        return nodes[node.place.number...].prefix { $0.depth > node.depth }.filter { inner in
            if inner.depth == node.depth + 1, let branch = inner.branch { isOwn = begins.contains(branch) }
            return isOwn
        }
    }
}

extension Sequence<LayerTree.Node> {
    func having(_ fact: Layer.Fact) -> [LayerTree.Node] { filter { $0.has(fact) } }

    func contains(_ fact: Layer.Fact) -> Bool { contains { $0.has(fact) } }
}
