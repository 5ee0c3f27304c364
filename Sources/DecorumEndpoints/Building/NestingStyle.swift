/// The names of values that are inside of other values, in a query or a form.
///
/// | style | `["a": ["b": 1]]` | `["a": [1, 2]]` |
/// |---|---|---|
/// | ``flat`` | an error | `a=1&a=2` |
/// | ``dotted`` | `a.b=1` | `a=1&a=2` |
/// | ``bracketed`` | `a[b]=1` | `a[]=1&a[]=2` |
/// | ``indexed`` | `a[b]=1` | `a[0]=1&a[1]=2` |
///
/// The brackets are sent percent-encoded, as all characters of a name.
public struct NestingStyle: Sendable {
    /// One step from a value to a value inside of it.
    public enum Step: Sendable, Hashable {
        /// A member of an object.
        case key(String)
        /// An element of an array, counted from 0.
        case index(Int)
    }

    /// Makes the name of the value at the end of some steps; nil where the style has no name for it.
    let name: @Sendable ([Step]) -> String?

    /// Creates a style.
    ///
    /// - Parameter name: Makes the name of the value at the end of some steps, which are at least one; nil where the style has
    ///   no name for it, so that encoding fails.
    public init(_ name: @escaping @Sendable (_ steps: [Step]) -> String?) {
        self.name = name
    }

    /// The elements of an array repeat its name; an object or array inside of another has no name.
    public static let flat = NestingStyle { steps in
        guard steps.count < 3, case .key(let name) = steps[0] else { return nil }
        if steps.count == 2, case .key = steps[1] { return nil }
        return name
    }

    /// A dot is before each key, and the elements of an array repeat its name.
    public static let dotted = NestingStyle { steps in
        let keys = steps.compactMap { if case .key(let key) = $0 { key } else { nil } }
        return keys.isEmpty ? nil : keys.joined(separator: ".")
    }

    /// Each key is in brackets, and empty brackets stand for an element of an array, as Rails and PHP read it.
    public static let bracketed = bracketed { _ in "[]" }

    /// Each key and each number of an element is in brackets.
    public static let indexed = bracketed { "[\($0)]" }

    private static func bracketed(_ index: @escaping @Sendable (Int) -> String) -> NestingStyle {
        NestingStyle { steps in
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
