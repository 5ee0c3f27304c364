#if CassetteImport
import Decorum
import DecorumTesting
import Yams

extension VCRFormat: TreeReader {
    func tree(of bytes: [UInt8], within budget: inout ImportBudget) throws(CassetteImportError) -> StoredNode {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let line = String(decoding: bytes, as: UTF8.self).prefix { $0 != "\u{FFFD}" }.utf8.count { $0 == 0x0A } + 1
            throw CassetteImportError(line: line, reason: "it is not UTF-8")
        }
        // Yams makes the whole tree before a limit can stop it, which takes about forty times as much memory.
        guard bytes.count <= 32 << 20 else { throw CassetteImportError(reason: "it has more than 32 MiB") }
        if let line = YAMLKeys.lineOfAlias(in: bytes) { throw Self.fault("an alias stands in a name", line) }
        let root: Node?
        do {
            root = try Parser(yaml: text, resolver: .basic, encoding: .utf8).singleRoot()
        } catch {
            throw Self.fault(error)
        }
        guard let root else { throw CassetteImportError(reason: "it is empty") }
        return try Self.node(root, depth: 0, within: &budget)
    }

    /// Copies a tree in which each alias is a reference to what its anchor stands before.
    ///
    /// The copy repeats it, so each value and each text counts as often as it is repeated.
    private static func node(
        _ node: Node, depth: Int, within budget: inout ImportBudget
    ) throws(CassetteImportError) -> StoredNode {
        let line = node.mark?.line
        guard depth < JSONScanner.depthLimit else { throw fault("it is nested too deeply", line) }
        do throws(CassetteImportError) {
            try budget.spend(values: 1)
            if let text = node.scalar?.string { try budget.spend(bytes: text.utf8.count) }
        } catch {
            throw CassetteImportError(line: line, reason: error.reason)
        }
        switch node {
        case .scalar(let scalar):
            let tag = label(scalar.tag)
            return StoredNode(content(of: scalar, tag), tag: tag, line: line)
        case .sequence(let sequence):
            var elements: [StoredNode] = []
            for element in sequence { elements.append(try self.node(element, depth: depth + 1, within: &budget)) }
            return StoredNode(.list(elements), tag: label(sequence.tag), line: line)
        case .mapping(let mapping):
            var members: [(name: String, node: StoredNode)] = []
            for (key, value) in mapping {
                guard let name = key.scalar?.string else { throw fault("a name is not a text", key.mark?.line) }
                members.append((name, try self.node(value, depth: depth + 1, within: &budget)))
            }
            return StoredNode(.map(members), tag: label(mapping.tag), line: line)
        case .alias: throw fault("an alias has no anchor", line)
        }
    }

    private static func content(of scalar: Node.Scalar, _ tag: String?) -> StoredNode.Content {
        if tag == "null" { return .null }
        guard tag == nil else { return .string(scalar.string) }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.string) ? .null : .literal(scalar.string)
    }

    /// The tag without its exclamation marks and the prefix of the tags of YAML; nil if it is implicit.
    private static func label(_ tag: Tag) -> String? {
        let name = tag.description
        guard !name.isEmpty else { return nil }
        let prefix = "tag:yaml.org,2002:"
        return String((name.hasPrefix(prefix) ? name.dropFirst(prefix.count) : name[...]).drop { $0 == "!" })
    }

    private static func fault(_ error: any Error) -> CassetteImportError {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            fault(problem, mark.line)
        case .duplicatedKeysInMapping(_, let context): fault("a name occurs twice in a mapping", context.mark.line)
        case .reader(let problem, let offset, _, let yaml):
            fault(problem, yaml.prefix(offset ?? 0).utf8.count { $0 == 0x0A } + 1)
        default: fault("it cannot be read", nil)
        }
    }

    private static func fault(_ reason: String, _ line: Int?) -> CassetteImportError {
        CassetteImportError(line: line, reason: "it is not YAML as cassettes are written: \(reason)")
    }
}

/// Finds aliases in names.
///
/// Yams compares the names of a mapping, and so visits everything in a name as often as its aliases repeat it, before
/// any limit can stop it. No recorder writes a name that is not a text.
private struct YAMLKeys {
    /// Whether an anchor stands before a list or a mapping, which aliases could multiply.
    private var hasCollection = false
    private var lineOfKey: Int?
    private var line = 1
    private var hasAlias = false
    /// Whether the line has the mark of a name, `?`, so far.
    private var hasMark = false

    /// The line of a name that may hold an alias of a list or a mapping; nil if no name does.
    ///
    /// Texts are searched too, as if they were not, so this may find more than there is.
    static func lineOfAlias(in bytes: [UInt8]) -> Int? {
        var keys = YAMLKeys()
        for index in bytes.indices { keys.visit(bytes, index) }
        return keys.hasCollection ? keys.lineOfKey : nil
    }

    private mutating func visit(_ bytes: [UInt8], _ index: Int) {
        switch bytes[index] {
        case 0x0A, 0x0D:
            if bytes[index] == 0x0A { line += 1 }
            (hasAlias, hasMark) = (false, false)
        case UInt8(ascii: "&") where Self.isStart(bytes, index):
            var end = Self.skipBlanks(bytes, Self.skipName(bytes, index + 1))
            if end < bytes.count, bytes[end] == UInt8(ascii: "!") {
                end = Self.skipBlanks(bytes, bytes[end...].firstIndex { $0 <= 0x20 } ?? bytes.count)
            }
            if Self.isCollection(bytes, end, "[{#-?\r\n") { hasCollection = true }
        case UInt8(ascii: "*") where Self.isStart(bytes, index):
            hasAlias = true
            noteName(bytes, endingAt: Self.skipName(bytes, index + 1))
        case UInt8(ascii: "]") where hasAlias, UInt8(ascii: "}") where hasAlias:
            noteName(bytes, endingAt: index + 1)
        case UInt8(ascii: "?") where Self.isStart(bytes, index):
            let end = Self.skipBlanks(bytes, index + 1)
            if Self.isCollection(bytes, end, "[{*&!#-\r\n") { lineOfKey = lineOfKey ?? line }
            // Within braces, the name ends at the first colon.
            let before = bytes[..<index].last { $0 != 0x20 && $0 != 0x09 }
            hasMark = hasMark || !"[{,".utf8.contains(before ?? 0)
        case UInt8(ascii: ":") where hasMark: noteName(bytes, endingAt: index)
        default: break
        }
    }

    /// Notes a name if a colon follows it.
    private mutating func noteName(_ bytes: [UInt8], endingAt end: Int) {
        let next = Self.skipBlanks(bytes, end)
        if next < bytes.count, bytes[next] == UInt8(ascii: ":") { lineOfKey = lineOfKey ?? line }
    }

    /// Whether a value may begin at an index.
    private static func isStart(_ bytes: [UInt8], _ index: Int) -> Bool {
        index == 0 || bytes[index - 1] >= 0x80 || " \t\r\n[{,:?".utf8.contains(bytes[index - 1])
    }

    private static func isCollection(_ bytes: [UInt8], _ index: Int, _ starts: String) -> Bool {
        index >= bytes.count || bytes[index] >= 0x80 || starts.utf8.contains(bytes[index])
    }

    private static func skipBlanks(_ bytes: [UInt8], _ index: Int) -> Int {
        bytes[index...].firstIndex { $0 != 0x20 && $0 != 0x09 } ?? bytes.count
    }

    private static func skipName(_ bytes: [UInt8], _ index: Int) -> Int {
        bytes[index...].firstIndex {
            !(0x30...0x39).contains($0) && !(0x41...0x5A).contains($0 & 0xDF) && $0 != 0x2D && $0 != 0x5F
        } ?? bytes.count
    }
}
#endif
