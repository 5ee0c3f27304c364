import DecorumTesting
import Testing

extension Test {
    /// The name by which the recordings of a shared cassette belong to the test that runs: its suites, its function, and
    /// the arguments of its case, so that cases that run at the same time do not depend on their order.
    static var currentRecorderName: String? {
        current.map { $0.recorderName(of: Case.current) }
    }

    /// The name by which the recordings of a shared cassette belong to the test.
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
            Self.child("value", of: argument.value, depth: 1).map { value in
                value as? String ?? String(describingForTest: value)
            }
        }
    }

    /// The value with a label, in the first of some levels that has it.
    private static func child(_ label: String, of value: Any, depth: Int) -> Any? {
        guard depth > 0 else { return nil }
        let children = Array(Mirror(reflecting: value).children)
        if let child = children.first(where: { $0.label == label }) { return child.value }
        return children.lazy.compactMap { Self.child(label, of: $0.value, depth: depth - 1) }.first
    }
}
