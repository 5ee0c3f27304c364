/// Follows all patterns of a redaction at once, level by level.
struct JSONMatcher: Sendable {
    /// For each pattern but the deep names, a bit for every number of components that the way so far can stand for.
    typealias State = [UInt64]

    let patterns: Set<JSONPattern>
    /// The names of all patterns of the form `**.name`: the usual ones, which need no state.
    private(set) var deepNames: SecretNames = []
    private var ways: [[JSONPattern.Component]] = []
    private(set) var start: State = []

    init(_ patterns: Set<JSONPattern>) {
        self.patterns = patterns
        for pattern in patterns {
            if pattern.components.count == 2, pattern.components[0] == .anyDepth,
                case .name(let name, nil) = pattern.components[1]
            {
                deepNames.insert(name)
            } else if pattern.components.count == 2, pattern.components[0] == .anyDepth,
                case .ending(let ending) = pattern.components[1]
            {
                deepNames.insert("*" + ending)
            } else {
                ways.append(pattern.components)
            }
        }
        start = ways.map { Self.closed(1, over: $0) }
    }

    var isEmpty: Bool { patterns.isEmpty }

    func accepts(_ state: State) -> Bool {
        zip(state, ways).contains { $0 & (1 << $1.count) != 0 }
    }

    func step(_ state: State, into key: String) -> State {
        step(state) { component in
            switch component {
            case .name(let name, _): name == key
            case .ending(let ending): key.utf8.suffix(ending.utf8.count).elementsEqual(ending.utf8)
            case .any, .anyDepth: true
            }
        }
    }

    func step(_ state: State, intoElement index: Int) -> State {
        let elements = step(state) { component in
            switch component {
            case .name(_, let wanted): wanted == index
            case .ending: false
            case .any, .anyDepth: true
            }
        }
        return zip(elements, state).map { $0 | $1 }
    }

    private func step(_ state: State, where matches: (JSONPattern.Component) -> Bool) -> State {
        zip(state, ways).map { bits, components in
            guard bits != 0 else { return 0 }
            var next: UInt64 = 0
            for (index, component) in components.enumerated() where bits & (1 << index) != 0 && matches(component) {
                next |= component == .anyDepth ? 1 << index : 1 << (index + 1)
            }
            return Self.closed(next, over: components)
        }
    }

    /// Adds what follows a `**`, which may stand for no level.
    private static func closed(_ bits: UInt64, over components: [JSONPattern.Component]) -> UInt64 {
        var bits = bits
        for (index, component) in components.enumerated() where component == .anyDepth && bits & (1 << index) != 0 {
            bits |= 1 << (index + 1)
        }
        return bits
    }
}

extension JSONMatcher: Hashable {
    // The order of the ways is that of a set, which differs between equal ones.
    static func == (lhs: JSONMatcher, rhs: JSONMatcher) -> Bool {
        lhs.patterns == rhs.patterns
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(patterns)
    }
}
