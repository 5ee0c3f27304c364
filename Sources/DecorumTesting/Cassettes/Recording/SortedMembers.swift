import Decorum
import DecorumArchive
import Foundation

extension RecordedRequest {
    /// Sorts the members of the objects in a JSON body by their names.
    ///
    /// An encoder writes them in an order that differs in each run, and a recording of the same traffic is to be the same
    /// file. Bodies that are compared keep no order anyway, and nothing plays the body of a request.
    mutating func sortMembers() {
        guard ContentKind(mediaType: fields[.contentType]) == .json, !fields.contains(.contentEncoding),
            String(validating: body.bytes, as: UTF8.self) != nil
        else { return }
        let bytes = Array(body.bytes)
        var scanner = JSONScanner(bytes)
        guard (try? scanner.skipValue()) == bytes.indices, let sorted = SortedMembers.sorted(bytes, in: bytes.indices)
        else { return }
        // With blanks, the layout is that of an author and not of an encoder.
        if sorted.count == bytes.count { body.bytes = Data(sorted) }
    }
}

/// JSON with the members of each object in the order of their names; their texts stay as they are.
private enum SortedMembers {
    /// The sorted text of a value that is known to be JSON; nil if a name occurs twice in an object.
    static func sorted(_ bytes: [UInt8], in range: Range<Int>) -> [UInt8]? {
        switch bytes[range.lowerBound] {
        case UInt8(ascii: "{"): object(bytes, in: range)
        case UInt8(ascii: "["): array(bytes, in: range)
        default: Array(bytes[range])
        }
    }

    private static func object(_ bytes: [UInt8], in range: Range<Int>) -> [UInt8]? {
        var scanner = JSONScanner(bytes, range: range)
        var members: [(name: String, text: [UInt8])] = []
        let isSorted: Void? = try? scanner.object { name, scanner in
            guard let value = sorted(bytes, in: try scanner.skipValue()) else { throw CancellationError() }
            members.append((name, JSONText.quoted(name) + [UInt8(ascii: ":")] + value))
        }
        guard isSorted != nil, Set(members.map(\.name)).count == members.count else { return nil }
        members.sort { $0.name < $1.name }
        return list(members.map(\.text), open: "{", close: "}")
    }

    private static func array(_ bytes: [UInt8], in range: Range<Int>) -> [UInt8]? {
        var scanner = JSONScanner(bytes, range: range)
        var elements: [[UInt8]] = []
        let isSorted: Void? = try? scanner.array { scanner in
            guard let element = sorted(bytes, in: try scanner.skipValue()) else { throw CancellationError() }
            elements.append(element)
        }
        return isSorted == nil ? nil : list(elements, open: "[", close: "]")
    }

    private static func list(_ texts: [[UInt8]], open: String, close: String) -> [UInt8] {
        Array(open.utf8) + Array(texts.joined(separator: ",".utf8)) + Array(close.utf8)
    }
}
