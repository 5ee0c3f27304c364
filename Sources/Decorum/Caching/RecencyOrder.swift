/// An order of identifiers by last use; using, adding and removing an identifier takes constant time.
struct RecencyOrder: Sendable {
    private struct Node {
        var older: Int
        var newer: Int
    }

    // A ring with a fixed node at index 0: its `newer` is the oldest identifier, its `older` the newest.
    private var nodes = [Node(older: 0, newer: 0)]
    private var free: [Int] = []

    /// The least recently used identifier.
    var oldest: Int? {
        nodes[0].newer == 0 ? nil : nodes[0].newer
    }

    /// Adds an identifier as the newest.
    mutating func add() -> Int {
        let identifier = free.popLast() ?? nodes.count
        if identifier == nodes.count { nodes.append(Node(older: 0, newer: 0)) }
        link(identifier)
        return identifier
    }

    /// Makes an identifier the newest.
    mutating func touch(_ identifier: Int) {
        unlink(identifier)
        link(identifier)
    }

    /// Removes an identifier, which may be used again.
    mutating func remove(_ identifier: Int) {
        unlink(identifier)
        free.append(identifier)
    }

    private mutating func link(_ identifier: Int) {
        let newest = nodes[0].older
        nodes[identifier] = Node(older: newest, newer: 0)
        nodes[newest].newer = identifier
        nodes[0].older = identifier
    }

    private mutating func unlink(_ identifier: Int) {
        let node = nodes[identifier]
        nodes[node.older].newer = node.newer
        nodes[node.newer].older = node.older
    }
}
