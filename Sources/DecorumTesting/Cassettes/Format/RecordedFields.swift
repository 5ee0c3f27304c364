import Decorum
import DecorumArchive
import HTTPTypes

/// Header fields as an object of JSON: a text, or a list if a name occurs more than once.
enum RecordedFields {
    static func write(_ fields: HTTPFields, as member: String, to page: inout JSONPage) {
        guard !fields.isEmpty else { return }
        page.member(member)
        page.object { page in
            var written: Set<HTTPField.Name> = []
            for field in fields where written.insert(field.name).inserted {
                page.member(field.name.rawName)
                let values = fields[values: field.name]
                if values.count == 1 {
                    page.string(values[0])
                } else {
                    page.array { page in
                        for value in values {
                            page.element()
                            page.string(value)
                        }
                    }
                }
            }
        }
    }

    /// The largest number of fields, which no message reaches.
    private static let limit = 1000

    static func read(_ scanner: inout JSONScanner) throws -> HTTPFields {
        var fields = HTTPFields()
        try scanner.object { text, scanner in
            guard let name = HTTPField.Name(text) else { throw scanner.fault("the name of a field is not valid") }
            guard !fields.contains(name) else { throw scanner.fault("a field occurs twice; use a list") }
            if try scanner.peek() == UInt8(ascii: "[") {
                try scanner.array { scanner in
                    guard fields.count < limit else { throw scanner.fault("a message has more than \(limit) fields") }
                    fields.append(try value(of: name, &scanner))
                }
            } else {
                guard fields.count < limit else { throw scanner.fault("a message has more than \(limit) fields") }
                fields.append(try value(of: name, &scanner))
            }
        }
        return fields
    }

    private static func value(of name: HTTPField.Name, _ scanner: inout JSONScanner) throws -> HTTPField {
        let text = try scanner.string()
        guard HTTPField.isValidValue(text) else { throw scanner.fault("the value of a field is not valid") }
        return HTTPField(name: name, value: text)
    }
}
