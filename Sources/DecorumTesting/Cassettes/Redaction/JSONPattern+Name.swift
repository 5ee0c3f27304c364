import Decorum

extension JSONPattern {
    /// A name of JSON as a pattern has it, with a backslash before each character that means something else there.
    static func escaped(_ name: String) -> String {
        // A dollar sign alone stands for the document.
        guard name != "$" else { return "\\$" }
        return name.reduce(into: "") { pattern, character in
            if character == "." || character == "*" || character == "\\" { pattern += "\\" }
            pattern.append(character)
        }
    }
}
