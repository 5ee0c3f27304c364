import Decorum
import Foundation
import Testing

@Suite struct StructuredFieldFuzzTests {
    private static let seeds = [
        #"abc;a=1;b=2; cde_456, (ghi;jk=4 l);q="9";r=w"#, #"en="Apple\"pie", da=:w4ZibGV0w6ZydGUK:, a=?0, b;c=-1.5"#,
        #"ExampleCache; hit; ttl=-412, "CDN Company Here";fwd=uri-miss;key="x\\y";fwd-status=304"#,
        #"sig=("@method" "date";sf);created=1618884473;d=%"f%c3%bc";t=@-99"#, "1, 2.50, a/b, (1 2 (", "-12.125;a",
    ]

    @Test(arguments: 0..<6) func `Any value that is read is written and read again as the same value`(seed: Int) throws
    {
        let generator = SeededGenerator(seed: UInt64(seed))
        let pieces = Array("\"\\:;,=()?@%*-. \t\0\u{7F}\n01abAF/_é".utf8)
        func number(below bound: Int) -> Int { Int(generator.next() % UInt64(bound)) }
        var read = 0
        var refused = 0
        for round in 0..<3000 {
            var bytes = round.isMultiple(of: 3) ? [] : Array(Self.seeds[seed].utf8)
            if bytes.isEmpty {
                bytes = (0..<number(below: 12)).map { _ in pieces[number(below: pieces.count)] }
            }
            for _ in 0..<number(below: 4) where !bytes.isEmpty {
                let index = number(below: bytes.count)
                switch number(below: 5) {
                case 0: bytes[index] = UInt8(truncatingIfNeeded: generator.next())
                case 1: bytes.remove(at: index)
                case 2: bytes.insert(pieces[number(below: pieces.count)], at: index)
                case 3: bytes.removeSubrange(index...)
                default:
                    bytes.insert(contentsOf: bytes[index..<min(index + 9, bytes.count)], at: number(below: index + 1))
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let outcomes = [
                try isStable(text, { try StructuredItem(parsing: $0) }, { try $0.serialized() }),
                try isStable(text, { try StructuredList(parsing: $0) }, { try $0.serialized() }),
                try isStable(text, { try StructuredDictionary(parsing: $0) }, { try $0.serialized() }),
            ]
            read += outcomes.count { $0 }
            refused += outcomes.count { !$0 }
        }
        #expect(read > 300)
        #expect(refused > 3000)
    }

    @Test func `Any value that is written is read as the same value`() throws {
        let generator = SeededGenerator(seed: 9)
        for _ in 0..<2000 {
            let list = StructuredList((0..<generator.next() % 5).map { _ in generator.member })
            #expect(try StructuredList(parsing: list.serialized()) == list)

            var dictionary = StructuredDictionary()
            for _ in 0..<generator.next() % 12 { dictionary[generator.key] = generator.member }
            #expect(try StructuredDictionary(parsing: dictionary.serialized()) == dictionary)

            #expect(try StructuredItem(parsing: generator.item.serialized()).serialized().isEmpty == false)
        }
    }

    /// Whether a text can be read; expects that the written form is canonical.
    private func isStable<Field: Equatable>(
        _ text: String, _ parse: (String) throws -> Field, _ serialize: (Field) throws -> String
    ) throws -> Bool {
        let field: Field
        do {
            field = try parse(text)
        } catch {
            let offset = try #require(error as? StructuredFieldError).offset
            #expect((0...text.utf8.count).contains(offset))
            return false
        }
        let canonical = try serialize(field)
        let again = try parse(canonical)
        #expect(again == field)
        #expect(try serialize(again) == canonical)
        return true
    }
}

extension SeededGenerator {
    fileprivate var member: StructuredMember {
        guard next().isMultiple(of: 3) else { return .item(item) }
        return StructuredMember((0..<next() % 4).map { _ in item }, parameters: parameters)
    }

    fileprivate var item: StructuredItem { StructuredItem(value, parameters: parameters) }

    private var parameters: StructuredParameters {
        var parameters = StructuredParameters()
        for _ in 0..<next() % 3 { parameters[key] = value }
        return parameters
    }

    fileprivate var key: String { text("ab*") + text("ab*_-.09") }

    private var value: StructuredValue {
        switch next() % 8 {
        case 0: .integer(Int64(next() % 1_999_999_999_999_999) - 999_999_999_999_999)
        case 1: .decimal(thousandths: Int64(next() % 1_999_999_999_999_999) - 999_999_999_999_999)
        case 2: .string(text("a\\\" ~,;=()"))
        case 3: .token(text("aZ*") + text("aZ09!#$%&'*+-.^_`|~:/"))
        case 4: .byteSequence(Data((0..<next() % 9).map { _ in UInt8(truncatingIfNeeded: next()) }))
        case 5: .boolean(next().isMultiple(of: 2))
        case 6: .date(Date(timeIntervalSince1970: Double(Int(next() % 1_999_999_999_999_999) - 999_999_999_999_999)))
        default: .displayString(text("aé%\"\\😀\n\0\u{7F}"))
        }
    }

    /// One to five of the given characters.
    private func text(_ characters: String) -> String {
        let scalars = Array(characters.unicodeScalars)
        var text = String.UnicodeScalarView()
        for _ in 0...next() % 5 { text.append(scalars[Int(next() % UInt64(scalars.count))]) }
        return String(text)
    }
}
