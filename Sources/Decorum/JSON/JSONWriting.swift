extension JSONValue {
    /// The value as a document without a line break at its end, with as many blanks for each level, or none at all.
    package func document(indentation: Int? = nil) -> [UInt8] {
        var output: [UInt8] = []
        write(to: &output, indentation: indentation, level: 0)
        return output
    }

    private func write(to output: inout [UInt8], indentation: Int?, level: Int) {
        switch self {
        case .null: output += "null".utf8
        case .bool(let value): output += (value ? "true" : "false").utf8
        case .number(let digits): output += digits.utf8
        case .string(let text): output += JSONText.quoted(text)
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                Self.separate(index, &output, indentation, level + 1)
                element.write(to: &output, indentation: indentation, level: level + 1)
            }
            if !elements.isEmpty { Self.breakLine(&output, indentation, level) }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                Self.separate(index, &output, indentation, level + 1)
                output += JSONText.quoted(member.name)
                output += (indentation == nil ? ":" : ": ").utf8
                member.value.write(to: &output, indentation: indentation, level: level + 1)
            }
            if !members.isEmpty { Self.breakLine(&output, indentation, level) }
            output.append(UInt8(ascii: "}"))
        }
    }

    private static func separate(_ index: Int, _ output: inout [UInt8], _ indentation: Int?, _ level: Int) {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        breakLine(&output, indentation, level)
    }

    private static func breakLine(_ output: inout [UInt8], _ indentation: Int?, _ level: Int) {
        guard let indentation else { return }
        output.append(UInt8(ascii: "\n"))
        output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: indentation * level))
    }
}
