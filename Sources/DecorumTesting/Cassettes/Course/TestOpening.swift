/// One opening of a shared file by a test, to which the recordings that are made with it belong.
///
/// A test may open the file several times, and the cases of a parameterised test whose arguments are not known are openings
/// of one test.
struct TestOpening: Hashable, Sendable {
    /// The name of the test.
    let test: String
    /// The number of the opening, counted from 1.
    let number: Int

    /// The name by which recordings belong to the opening: that of the test, and from the second opening on the number.
    var name: String { number == 1 ? test : "\(test) \(number)" }

    /// Whether a name is that of any opening by the same test.
    func isOfSameTest(_ name: String) -> Bool {
        guard name.hasPrefix(test) else { return false }
        let rest = name.utf8.dropFirst(test.utf8.count)
        return rest.isEmpty || rest.first == UInt8(ascii: " ") && Int(Substring(rest.dropFirst())) != nil
    }
}
