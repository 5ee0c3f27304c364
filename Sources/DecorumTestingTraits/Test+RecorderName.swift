import DecorumTesting
import Testing

extension Test {
    /// The name by which the recordings of a shared cassette belong to the test that runs: its suites, its function, and
    /// the arguments of its case or their checksum, so that cases that run at the same time do not depend on their order.
    static var currentRecorderName: String? {
        current.map { $0.recorderName(of: Case.current) }
    }

    func recorderName(of testCase: Case?) -> String {
        var names = id.nameComponents
        names.append(CassettePath.name(ofFunction: names.popLast() ?? name))
        let name = names.joined(separator: ".")
        guard let arguments = testCase?.argumentTexts, !arguments.isEmpty else { return name }
        return "\(name)(\(CassettePath.shortened(arguments.joined(separator: ", "))))"
    }
}

extension Test.Case {
    /// The arguments as text; empty for a test without any, and where the framework does not show them.
    ///
    /// Swift Testing has no public property for them, so they are read by reflection. Without them, cases are numbered in
    /// the order in which they open the cassette.
    fileprivate var argumentTexts: [String] {
        guard isParameterized, let arguments = Self.child("arguments", of: self, depth: 4) else { return [] }
        return Mirror(reflecting: arguments).children.compactMap { argument in
            Self.child("value", of: argument.value, depth: 1).map(Self.text)
        }
    }

    /// The text of an argument in a file that others read: a name or a number as it is, and the checksum of any other, which
    /// may hold a secret.
    private static func text(of value: Any) -> String {
        let text = value as? String ?? String(describingForTest: value)
        let isCase = Mirror(reflecting: value).displayStyle == .enum && Mirror(reflecting: value).children.isEmpty
        let isName =
            value is String && text.utf8.count <= 20 && text.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) }
        if isCase || isName || value is any BinaryInteger || value is Bool { return text }
        // FNV-1a, in 32 bits.
        let checksum = text.utf8.reduce(0x811C_9DC5 as UInt32) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
        return "#" + String(checksum, radix: 16)
    }

    /// The value with a label, in the first of some levels that has it.
    private static func child(_ label: String, of value: Any, depth: Int) -> Any? {
        guard depth > 0 else { return nil }
        let children = Array(Mirror(reflecting: value).children)
        if let child = children.first(where: { $0.label == label }) { return child.value }
        return children.lazy.compactMap { Self.child(label, of: $0.value, depth: depth - 1) }.first
    }
}
