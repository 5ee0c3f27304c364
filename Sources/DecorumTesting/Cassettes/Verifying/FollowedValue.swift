import DecorumArchive
import Foundation

/// The texts in JSON content by which later requests ask for more, such as the cursor of the next page or an identifier.
enum FollowedValue {
    /// A shorter text equals a part of another URL by chance.
    private static let leastLength = 6
    private static let lengthLimit = 256
    private static let countLimit = 10_000

    /// The texts in the content of an answer, by their JSON paths.
    static func all(in response: RecordedResponse) -> [String: String] {
        guard let value = try? JSONValue(parsing: Array(response.body.bytes), countLimit: countLimit) else {
            return [:]
        }
        var found: [String: String] = [:]
        add(value, at: "$", to: &found)
        return found
    }

    private static func add(_ value: JSONValue, at path: String, to found: inout [String: String]) {
        switch value {
        case .string(let text):
            if (leastLength...lengthLimit).contains(text.utf8.count) { found[path] = text }
        case .array(let elements):
            for (index, element) in elements.enumerated() { add(element, at: "\(path)[\(index)]", to: &found) }
        case .object(let members):
            for member in members { add(member.value, at: "\(path).\(member.name)", to: &found) }
        case .null, .bool, .number: break
        }
    }

    /// The segments of the path of a URL and the values of its query, decoded.
    static func words(in url: String) -> [String] {
        let start = url.range(of: "://")?.upperBound ?? url.startIndex
        return url[start...].split(whereSeparator: { "/?&=#".contains($0) }).dropFirst()
            .map { $0.removingPercentEncoding ?? String($0) }.filter { $0.utf8.count >= leastLength }
    }
}
