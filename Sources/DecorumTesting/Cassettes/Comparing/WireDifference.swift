import HTTPTypes

/// The differences between the requests that left two stacks for one request, in lines for a person.
///
/// The lines hold no value of a field, because its name is enough to find the layer.
struct WireDifference {
    private typealias WireRequest = StackComparison.WireRequest

    /// The name of a stack, and the requests that left it.
    typealias Sender = (name: String, requests: [StackComparison.WireRequest])

    private static let limit = 8

    /// The ways in which two requests may be alike, from the closest to none.
    private static let similarities: [@Sendable (_ one: WireRequest, _ other: WireRequest) -> Bool] = [
        { $0 == $1 },
        { $0.method == $1.method && $0.url == $1.url },
        { $0.method == $1.method && URLNearness.address(of: $0.url) == URLNearness.address(of: $1.url) },
        { URLNearness.address(of: $0.url) == URLNearness.address(of: $1.url) },
        { $0.method == $1.method },
        { _, _ in true },
    ]

    private let first: Sender
    private let other: Sender
    /// For each request of the first stack, the place of the one that the other stack sends for it.
    private let partners: [Int?]

    init(_ first: Sender, _ other: Sender) {
        self.first = first
        self.other = other
        // A layer may send a request of its own before that of the caller, so the order alone does not pair them.
        var partners = [Int?](repeating: nil, count: first.requests.count)
        var isTaken = [Bool](repeating: false, count: other.requests.count)
        for areAlike in Self.similarities {
            for index in partners.indices where partners[index] == nil {
                let partner = isTaken.indices.first { place in
                    !isTaken[place] && areAlike(first.requests[index], other.requests[place])
                }
                guard let partner else { continue }
                partners[index] = partner
                isTaken[partner] = true
            }
        }
        self.partners = partners
    }

    /// The lines; none if both stacks send the same.
    var lines: [String] {
        let unpaired = partners.indices.filter { partners[$0] == nil }.map { first.requests[$0] }
        let added = other.requests.indices.filter { !partners.contains($0) }.map { other.requests[$0] }
        let lines =
            pairedLines + Self.further(unpaired, of: first.name, than: other.name)
            + Self.further(added, of: other.name, than: first.name)
        return Array(lines.prefix(Self.limit)) + (lines.count > Self.limit ? ["and other differences"] : [])
    }

    private var pairedLines: [String] {
        let pairs = zip(first.requests, partners).compactMap { request, place in place.map { (request, $0) } }
        let texts = pairs.flatMap { request, place in
            differences(request, other.requests[place]).map { ($0, place + 1) }
        }
        return Self.grouped(texts).map { text, numbers in
            guard numbers.count < pairs.count else { return text }
            let list = numbers.sorted().map { "\($0)" }.joined(separator: ", ")
            return "\(text) (\(numbers.count == 1 ? "request" : "requests") \(list) of \(other.name))"
        }
    }

    private func differences(_ one: WireRequest, _ two: WireRequest) -> [String] {
        var lines: [String] = []
        if one.target != two.target {
            lines.append("\(other.name) sends \(two.target), \(first.name) sends \(one.target)")
        }
        let added = two.names { !one.fields.contains($0) }
        if !added.isEmpty {
            lines.append("\(other.name) sends \(added.joined(separator: ", ")), \(first.name) does not")
        }
        let lost = one.names { !two.fields.contains($0) }
        if !lost.isEmpty {
            lines.append("\(first.name) sends \(lost.joined(separator: ", ")), \(other.name) does not")
        }
        let changed = two.names { one.fields.contains($0) && one.fields[values: $0] != two.fields[values: $0] }
        if !changed.isEmpty {
            lines.append("\(other.name) sends another value of \(changed.joined(separator: ", ")) than \(first.name)")
        }
        return lines
    }

    /// The requests of a stack for which the other one sends none.
    private static func further(_ requests: [WireRequest], of name: String, than other: String) -> [String] {
        let texts = requests.enumerated().map { index, request in
            let names = request.names { _ in true }
            let fields = names.isEmpty ? "" : " with \(names.joined(separator: ", "))"
            return ("\(name) also sends \(request.target)\(fields)", index)
        }
        return grouped(texts).map { text, numbers in
            "\(text)\(numbers.count == 1 ? "" : ", \(numbers.count) times"), \(other) does not"
        }
    }

    /// Each text once, in the order in which they come first, with its numbers.
    private static func grouped(_ texts: [(String, Int)]) -> [(text: String, numbers: [Int])] {
        var places: [String: Int] = [:]
        var groups: [(text: String, numbers: [Int])] = []
        for (text, number) in texts {
            if let place = places[text] {
                groups[place].numbers.append(number)
            } else {
                places[text] = groups.count
                groups.append((text, [number]))
            }
        }
        return groups
    }
}

extension StackComparison.WireRequest {
    /// The names of fields, each once, as they are sent.
    fileprivate func names(where isIncluded: (HTTPField.Name) -> Bool) -> [String] {
        Set(fields.map(\.name)).filter(isIncluded).sorted { $0.canonicalName < $1.canonicalName }.map(\.rawName)
    }
}
