import Decorum
import Foundation
import Testing

/// The sizes that RFC 9651, section 3 requires every implementation to support, and a hundred times as much.
@Suite struct StructuredFieldLimitTests {
    @Test(arguments: [1024, 100_000]) func `A list has many members`(count: Int) throws {
        let text = Array(repeating: "a", count: count).joined(separator: ", ")

        let list = try StructuredList(parsing: text)

        #expect(list.members.count == count)
        #expect(try list.serialized() == text)
    }

    @Test(arguments: [1024, 100_000]) func `A dictionary has many members, without a linear search`(count: Int) throws {
        let text = (0..<count).map { "k\($0)=\($0)" }.joined(separator: ", ")

        let dictionary = try StructuredDictionary(parsing: text + ", " + text)

        #expect(dictionary.count == count)
        #expect(dictionary["k\(count - 1)"]?.item?.value.integer == Int64(count - 1))
        #expect(try dictionary.serialized() == text)
    }

    @Test(arguments: [256, 100_000]) func `An item has many parameters`(count: Int) throws {
        let text = "a" + (0..<count).map { ";k\($0)=\($0)" }.joined()

        let item = try StructuredItem(parsing: text)

        #expect(item.parameters.count == count)
        #expect(try item.serialized() == text)
    }

    @Test(arguments: [256, 100_000]) func `An inner list has many items`(count: Int) throws {
        let text = "(" + Array(repeating: "1", count: count).joined(separator: " ") + ")"

        let list = try StructuredList(parsing: text)

        #expect(list.members.first?.innerList?.items.count == count)
        #expect(try list.serialized() == text)
    }

    @Test(arguments: [64, 1024, 100_000]) func `Keys and values are long`(count: Int) throws {
        let letters = String(repeating: "a", count: count)
        let escapes = String(repeating: #"\""#, count: count)
        let bytes = Data(repeating: 7, count: count).base64EncodedString()
        let display = String(repeating: "%c3%bc", count: count)
        let text = #"\#(letters)=\#(letters), b="\#(escapes)", c=:\#(bytes):, d=%"\#(display)""#

        let dictionary = try StructuredDictionary(parsing: text)

        #expect(dictionary["b"]?.item?.value.string?.utf8.count == count)
        #expect(dictionary["c"]?.item?.value.byteSequence?.count == count)
        #expect(dictionary["d"]?.item?.value.displayString?.utf8.count == 2 * count)
        #expect(try dictionary.serialized() == text)
    }

    @Test(arguments: [
        "(", "((", "\"", "\"\\\"", ",", ";", ";a", "a;", "a=", "a,", ":", "%", "%\"", "%22", "-", "1", "0", " ", "\t",
        "\\",
        "a=(", "(a ", "()", "é", "\0", "?1", "@1", "*", "a, ",
    ]) func `An eighth of a megabyte of one repeated text is read quickly`(unit: String) {
        var text = ""
        while text.utf8.count < 1 << 17 { text += unit }

        let outcomes = [
            Result { try StructuredItem(parsing: text).serialized() },
            Result { try StructuredList(parsing: text).serialized() },
            Result { try StructuredDictionary(parsing: text).serialized() },
        ]

        for outcome in outcomes {
            switch outcome {
            case .success(let canonical): #expect(canonical.utf8.count <= text.utf8.count)
            case .failure(let error): #expect(error is StructuredFieldError)
            }
        }
    }
}
