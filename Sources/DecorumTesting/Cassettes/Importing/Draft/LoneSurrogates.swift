/// Finds the texts of a file that had half of a surrogate pair, which no string of Swift can hold.
struct LoneSurrogates {
    private(set) var places: [ImportPlace] = []
    /// The steps to the value that is being searched.
    private var path: [String] = []

    init(in root: StoredNode) {
        search(root.value)
    }

    private mutating func search(_ value: StoredValue) {
        if value.hasLoneSurrogate {
            places.append(ImportPlace(path: "$" + path.joined(), line: value.line))
        }
        switch value.content {
        case .list(let elements):
            for (index, element) in elements.enumerated() where element.mayHoldText {
                search(element, at: "[\(index)]")
            }
        case .map(let members):
            for member in members where member.value.mayHoldText { search(member.value, at: "." + member.name) }
        case .null, .number, .literal, .string: break
        }
    }

    private mutating func search(_ value: StoredValue, at step: String) {
        path.append(step)
        search(value)
        path.removeLast()
    }
}

extension StoredValue {
    /// Whether it is a container, or has a lone surrogate itself.
    fileprivate var mayHoldText: Bool {
        switch content {
        case .list, .map: true
        case .null, .number, .literal, .string: hasLoneSurrogate
        }
    }
}

extension ImportDraft {
    /// Warns of each text that had half of a surrogate pair.
    mutating func warnOfLoneSurrogates(in root: StoredNode) {
        for place in LoneSurrogates(in: root).places {
            warn(
                .loneSurrogate, at: place,
                "A text has half of a surrogate pair, which is no character, and became U+FFFD.")
        }
    }
}
