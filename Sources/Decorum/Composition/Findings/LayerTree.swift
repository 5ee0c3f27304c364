/// The layers of a stack with those of its branches, each with the layers outside of it.
struct LayerTree: Sendable {
    struct Node: Sendable {
        let place: LayerPlace
        /// The indices of the layers that a request passes before this one, outermost first.
        let outer: [Int]
        /// The number of branches that the layer is inside of.
        let depth: Int
        /// The name of the branch whose outermost layer this is.
        let branch: String?
        /// The indices of the layers to which this one sends.
        fileprivate(set) var targets: [Int] = []

        var layer: Layer { place.layer }
    }

    /// All layers, each followed by those of its branches.
    private(set) var nodes: [Node] = []

    init(_ layers: [Layer]) {
        let names = layers.flatMap(\.withBranches).map(\.name)
        let shared = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +).filter { $0.value > 1 }
        add(layers, inside: [], depth: 0, branch: nil, namesakes: Set(shared.keys))
    }

    private mutating func add(
        _ layers: [Layer], inside outer: [Int], depth: Int, branch: String?, namesakes: Set<String>
    ) {
        var outer = outer
        var last: Int?
        for (position, layer) in layers.enumerated() {
            let index = nodes.count
            let place = LayerPlace(number: index + 1, layer: layer, hasNamesake: namesakes.contains(layer.name))
            nodes.append(Node(place: place, outer: outer, depth: depth, branch: position == 0 ? branch : nil))
            if let last { nodes[last].targets.append(index) }
            last = index
            for branch in layer.branches where !branch.layers.isEmpty {
                nodes[index].targets.append(nodes.count)
                // Requests that the layer sends on its own behalf have not passed the layers outside of it.
                let outer = branch.carriesRequests ? outer + [index] : []
                add(branch.layers, inside: outer, depth: depth + 1, branch: branch.name, namesakes: namesakes)
            }
            outer.append(index)
        }
    }

    /// The layers outside of a layer, outermost first.
    func layers(outsideOf node: Node) -> [LayerPlace] {
        node.outer.map { nodes[$0].place }
    }

    /// The layers inside of a layer, also on its branches, from the outside in.
    func layers(insideOf node: Node) -> [LayerPlace] {
        let index = node.place.number - 1
        return nodes.filter { $0.outer.contains(index) }.map(\.place)
    }

    /// The layers of the branches through which a layer sends requests of its own, with the branches of those layers.
    func ownRequests(of node: Node) -> [LayerPlace] {
        let begins = node.layer.branches.filter { !$0.carriesRequests }.map(\.name)
        let inside = nodes[node.place.number...].prefix { $0.depth > node.depth }
        var isOwn = false
        return inside.filter { inner in
            if inner.depth == node.depth + 1, let branch = inner.branch { isOwn = begins.contains(branch) }
            return isOwn
        }.map(\.place)
    }

    /// Whether a request passes one layer before another.
    func isInside(_ place: LayerPlace, of other: LayerPlace) -> Bool {
        nodes[place.number - 1].outer.contains(other.number - 1)
    }

    /// The largest number of requests over the network for one call, as if a transport sent once; nil for any number.
    ///
    /// - Parameter removed: The layers that are to be left out.
    /// - Returns: The number.
    func mostSends(without removed: [LayerPlace] = []) -> Int? {
        nodes.isEmpty ? 0 : mostSends(from: 0, without: Set(removed.map { $0.number - 1 }))
    }

    private func mostSends(from index: Int, without removed: Set<Int>) -> Int? {
        let node = nodes[index]
        var total: Int? = node.targets.isEmpty ? 1 : 0
        for target in node.targets {
            guard let sum = total, let sends = mostSends(from: target, without: removed) else { return nil }
            let (next, overflows) = sum.addingReportingOverflow(sends)
            total = overflows ? nil : next
        }
        guard let once = total else { return nil }
        let sends = node.layer.sends.upperBound
        guard sends > 1, !removed.contains(index) else { return once }
        let (product, overflows) = once.multipliedReportingOverflow(by: sends)
        return overflows || sends == .max ? nil : product
    }
}
