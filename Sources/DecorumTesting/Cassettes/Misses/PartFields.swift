import Decorum
import DecorumArchive
import Foundation

/// The fields of a part of a multipart body, without the name of the part (RFC 7578, section 4).
struct PartFields {
    /// The lower-case names and the values: the file name and other parameters of `Content-Disposition`, and the other fields, in their order.
    let values: [(name: String, value: String)]

    /// The fields of all parts that have any, in the order of the parts.
    static func all(in content: [UInt8], mediaType: String) -> [PartFields] {
        guard let layout = MultipartLayout(content, mediaType: mediaType) else { return [] }
        return zip(layout.delimiters, layout.delimiters.dropFirst()).compactMap { delimiter, next in
            let lines = content[delimiter.upperBound..<next.lowerBound]
                .split(separator: 0x0A, omittingEmptySubsequences: false).dropFirst()
                .map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines) }
            return lines.contains("") ? PartFields(lines.prefix { !$0.isEmpty }) : nil
        }
    }

    private init(_ lines: some Sequence<String>) {
        values = lines.flatMap { line -> [(String, String)] in
            let halves = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2 else { return [] }
            let value = halves[1].trimmingCharacters(in: .whitespaces)
            guard halves[0].lowercased() == "content-disposition" else { return [(halves[0].lowercased(), value)] }
            return value.split(separator: ";").dropFirst().compactMap(Self.parameter).filter { $0.0 != "name" }
        }
    }

    /// The name, in lower case, and the value of a parameter without its quotation marks.
    static func parameter(_ text: Substring) -> (String, String)? {
        let halves = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        return (
            halves[0].trimmingCharacters(in: .whitespaces).lowercased(),
            halves[1].trimmingCharacters(in: .whitespaces.union(["\""]))
        )
    }

    /// The names whose values differ, with the recorded value and the live one; nil where a part has none.
    func differences(to live: PartFields) -> [(name: String, recorded: String?, live: String?)] {
        let old = Dictionary(values) { first, _ in first }
        let new = Dictionary(live.values) { first, _ in first }
        var seen: Set<String> = []
        return (values + live.values).map(\.name).filter { seen.insert($0).inserted && old[$0] != new[$0] }
            .map { ($0, old[$0], new[$0]) }
    }
}
