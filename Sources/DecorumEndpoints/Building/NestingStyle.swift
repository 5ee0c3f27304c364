/// The names of values that are inside of other values, in a query or a form.
///
/// | style | `["a": ["b": 1]]` | `["a": [1, 2]]` |
/// |---|---|---|
/// | ``flat`` | an error | `a=1&a=2` |
/// | ``dotted`` | `a.b=1` | `a=1&a=2` |
/// | ``bracketedKeys`` | `a[b]=1` | `a=1&a=2` |
/// | ``bracketed`` | `a[b]=1` | `a[]=1&a[]=2` |
/// | ``indexed`` | `a[b]=1` | `a[0]=1&a[1]=2` |
///
/// The brackets are sent percent-encoded, as all characters of a name.
public struct NestingStyle: Sendable, CustomStringConvertible {
    /// One step from a value to a value inside of it.
    public enum Step: Sendable, Hashable {
        /// A member of an object.
        case key(String)
        /// An element of an array, counted from 0.
        case index(Int)
    }

    /// The name of the style, such as `bracketed`; `custom` for one that was created from a closure.
    public let description: String
    /// Makes the name of the value at the end of some steps; nil where the style has no name for it.
    let name: @Sendable ([Step]) -> String?

    private init(_ description: String, _ name: @escaping @Sendable ([Step]) -> String?) {
        self.description = description
        self.name = name
    }

    /// Creates a style.
    ///
    /// - Parameter name: Makes the name of the value at the end of some steps, of which there is at least one: the first is the
    ///   outermost name, and the last is that of the value itself. It returns nil where the style has no name for the value, so
    ///   that encoding fails.
    public init(_ name: @escaping @Sendable (_ steps: [Step]) -> String?) {
        self.init("custom", name)
    }

    /// The elements of an array repeat its name; an object or array inside of another has no name.
    public static let flat = NestingStyle("flat") { steps in
        guard steps.count < 3, case .key(let name) = steps[0] else { return nil }
        if steps.count == 2, case .key = steps[1] { return nil }
        return name
    }

    /// A dot is before each key, and the elements of an array repeat its name.
    public static let dotted = NestingStyle("dotted") { steps in
        let keys = steps.compactMap { if case .key(let key) = $0 { key } else { nil } }
        return keys.isEmpty ? nil : keys.joined(separator: ".")
    }

    /// Each key is in brackets, and empty brackets stand for an element of an array, as Rails and PHP read it.
    public static let bracketed = bracketed("bracketed") { _ in "[]" }

    /// Each key is in brackets, and the elements of an array repeat its name, as in `filter[state]=open&tag=a&tag=b`.
    public static let bracketedKeys = bracketed("bracketedKeys") { _ in "" }

    /// Each key and each number of an element is in brackets.
    public static let indexed = bracketed("indexed") { "[\($0)]" }

    private static func bracketed(
        _ description: String, _ index: @escaping @Sendable (Int) -> String
    ) -> NestingStyle {
        NestingStyle(description) { steps in
            guard case .key(let first) = steps[0] else { return nil }
            return steps.dropFirst().reduce(into: first) { name, step in
                switch step {
                case .key(let key): name += "[\(key)]"
                case .index(let number): name += index(number)
                }
            }
        }
    }
}
