#if CassetteImport
import Decorum
import DecorumArchive
import Foundation

/// JSON with sorted members and no blanks, as the independent reader compares values.
enum CanonicalJSON {
    static func bytes(of document: Data) throws -> Data {
        Data(canonical(try JSONValue(parsing: Array(document))).document())
    }

    private static func canonical(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let members):
            .object(
                members.map { JSONValue.Member($0.name, canonical($0.value)) }
                    .sorted { $0.name.unicodeScalars.lexicographicallyPrecedes($1.name.unicodeScalars) })
        case .array(let elements): .array(elements.map(canonical))
        case .number(let digits): .number(Int(digits) == nil ? Double(digits).map { "\($0)" } ?? digits : digits)
        case .null, .bool, .string: value
        }
    }
}
#endif
