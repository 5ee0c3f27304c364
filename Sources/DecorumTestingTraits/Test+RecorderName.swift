import DecorumTesting
import Testing

extension Test {
    /// The name by which the recordings of a shared cassette belong to the test: its suites and its function.
    var recorderName: String {
        var names = id.nameComponents
        names.append(CassettePath.name(ofFunction: names.popLast() ?? name))
        return names.joined(separator: ".")
    }
}
