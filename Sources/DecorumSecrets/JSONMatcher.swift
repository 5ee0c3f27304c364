/// One or more places in JSON: names joined by dots, with `*` for any one level and `**` for any number of levels.
///
/// Only the first 60 levels count. A backslash escapes the next character, and a leading `$` stands for the document.
package struct JSONPath: Sendable, Hashable {
    enum Component: Sendable, Hashable {
        case name(String, index: Int?)
        case any
        case anyDepth
        /// The ending of a name, normalised.
        case ending(String)
    }

    let components: [Component]

    /// Parses a path.
    package init(_ path: String) {
        var components: [Component] = []
        var name = ""
        var (isEscaped, hasEscape) = (false, false)

        func end() {
            switch name {
            case "*" where !hasEscape: components.append(.any)
            case "**" where !hasEscape: components.append(.anyDepth)
            case "$" where !hasEscape && components.isEmpty: break
            case _ where !hasEscape && name.first == "*":
                components.append(.ending(SecretNameSet.normalized(name.dropFirst().utf8)))
            default: components.append(.name(SecretNameSet.normalized(name.utf8), index: Int(name)))
            }
            (name, hasEscape) = ("", false)
        }

        for character in path {
            if !isEscaped, character == "\\" {
                (isEscaped, hasEscape) = (true, true)
            } else if !isEscaped, character == "." {
                end()
            } else {
                name.append(character)
                isEscaped = false
            }
        }
        if !path.isEmpty { end() }
        self.components = Array(components.prefix(60))
    }
}

/// Matches all paths of a redaction at once, level by level.
package struct JSONMatcher: Sendable {
    /// For each path except the deep names, one bit for each number of components that the way so far can match.
    typealias State = [UInt64]

    /// The paths.
    package let paths: Set<JSONPath>
    /// The names of all paths of the form `**.name`, which are the most common and need no state.
    package private(set) var deepNames: SecretNameSet = []
    private var ways: [[JSONPath.Component]] = []
    private(set) var start: State = []

    /// Creates a matcher.
    package init(_ paths: Set<JSONPath>) {
        self.paths = paths
        for path in paths {
            switch path.components.count == 2 && path.components[0] == .anyDepth ? path.components[1] : .any {
            case .name(let name, nil): deepNames.insert(name)
            case .ending(let ending): deepNames.insert("*" + ending)
            default: ways.append(path.components)
            }
        }
        start = ways.map { Self.closed(1, over: $0) }
    }

    var isEmpty: Bool { paths.isEmpty }

    func accepts(_ state: State) -> Bool {
        zip(state, ways).contains { $0 & (1 << $1.count) != 0 }
    }

    func step(_ state: State, into name: [UInt8]) -> State {
        guard !ways.isEmpty else { return state }
        let name = SecretNameSet.normalized(name)
        return step(state) { component in
            switch component {
            case .name(let wanted, _): wanted == name
            case .ending(let ending): name.utf8.suffix(ending.utf8.count).elementsEqual(ending.utf8)
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

    private func step(_ state: State, where matches: (JSONPath.Component) -> Bool) -> State {
        zip(state, ways).map { bits, components in
            var next: UInt64 = 0
            for (index, component) in components.enumerated() where bits & (1 << index) != 0 && matches(component) {
                next |= component == .anyDepth ? 1 << index : 1 << (index + 1)
            }
            return Self.closed(next, over: components)
        }
    }

    /// Adds the components after a `**`, which may match zero levels.
    private static func closed(_ bits: UInt64, over components: [JSONPath.Component]) -> UInt64 {
        var bits = bits
        for (index, component) in components.enumerated() where component == .anyDepth && bits & (1 << index) != 0 {
            bits |= 1 << (index + 1)
        }
        return bits
    }
}

extension JSONMatcher: Hashable {
    // `ways` has the order of a set, which differs between equal sets.
    package static func == (one: Self, other: Self) -> Bool { one.paths == other.paths }

    package func hash(into hasher: inout Hasher) { hasher.combine(paths) }
}
