import Decorum
import Foundation
import HTTPTypes
import Synchronization

extension Cassette {
    /// The recorded interactions, without their secrets, in the order of the file, and the redactor.
    ///
    /// A request that was not answered in time is left out.
    func recorded() throws -> (interactions: [Interaction], redactor: CassetteRedactor) {
        let recordings = state.withLock { $0.recordings }
        var recorded: [Interaction] = []
        var events: [(sent: Int, answered: Int)] = []
        for (index, recording) in recordings.enumerated() {
            guard let answered = recording.answered, let interaction = try recording.interaction(),
                let interaction = try rules.rewritten(interaction, number: index + 1, of: file)
            else { continue }
            recorded.append(interaction)
            events.append((recording.sent, answered))
        }
        if rules.order == .any {
            let exchanges = zip(recorded, events).map { interaction, event in
                SendingOrder.Exchange(
                    sent: event.sent, answered: event.answered,
                    text: RequestText(redactor.matchable(interaction.request)))
            }
            recorded = SendingOrder.sorted(exchanges).map { recorded[$0] }
        }
        // The placeholders of other tests are not reserved, so that a test has the same ones whichever test was first.
        let foreign = InteractionOwners(of: opened, for: opening).foreign
        let naming = CassetteRedactor(rules, continuing: mode == .append ? opened.text(without: foreign) : [])
        return (naming.redacted(recorded), naming)
    }
}

extension CassetteRules {
    fileprivate func rewritten(_ interaction: Interaction, number: Int, of file: URL) throws -> Interaction? {
        var interaction = interaction
        if content == .decoded { interaction.decodeContent() }
        if let beforeRecording {
            guard let rewritten = beforeRecording(interaction) else { return nil }
            interaction = rewritten
        }
        if content == .decoded { try interaction.checkCoding(number: number, file: file.relativePath) }
        return interaction
    }
}

/// The order of a file: that in which requests were sent.
///
/// A request that was answered before another was sent comes before it. Requests that were under way at the same time
/// have no order of their own, because chance decides which task is first: among the requests that may come next, the first one
/// by URL, method and content does. The rule gives the same file in each run, whichever task was faster.
enum SendingOrder {
    struct Exchange {
        let sent: Int
        /// The number at which the head of the response arrived, or the exchange failed.
        let answered: Int
        let text: RequestText
    }

    /// The indices of exchanges, which are given in the order of their sending, in the order of the file.
    static func sorted(_ exchanges: [Exchange]) -> [Int] {
        // Without exchanges at the same time, the order is given.
        guard zip(exchanges, exchanges.dropFirst()).contains(where: { $0.answered > $1.sent }) else {
            return Array(exchanges.indices)
        }
        let byText = exchanges.indices.sorted { (exchanges[$0].text, $0) < (exchanges[$1].text, $1) }
        var rank = Array(repeating: 0, count: exchanges.count)
        for (position, index) in byText.enumerated() { rank[index] = position }

        var answers = exchanges.indices.sorted { exchanges[$0].answered < exchanges[$1].answered }[...]
        var isPlaced = Array(repeating: false, count: exchanges.count)
        var order: [Int] = []
        var candidates: [Int] = []
        var next = 0
        while order.count < exchanges.count {
            while let first = answers.first, isPlaced[first] { answers.removeFirst() }
            // A request that was sent after the first answer that is left follows it.
            let limit = answers.first.map { exchanges[$0].answered } ?? .max
            while next < exchanges.count, exchanges[next].sent < limit {
                candidates.insert(rank[next], at: place(of: rank[next], in: candidates))
                next += 1
            }
            guard let first = candidates.popLast() else { break }
            isPlaced[byText[first]] = true
            order.append(byText[first])
        }
        return order
    }

    /// The place of a number among numbers in falling order.
    private static func place(of number: Int, in numbers: [Int]) -> Int {
        var range = numbers.indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = numbers[middle] > number ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}

/// The text of a request by which requests are ordered: its URL, its method and its content.
struct RequestText: Comparable {
    private let parts: [[UInt8]]

    init(_ request: RecordedRequest) {
        parts = [[UInt8](request.url.utf8), [UInt8](request.method.utf8), [UInt8](request.body.bytes)]
    }

    static func < (one: Self, other: Self) -> Bool {
        for (part, otherPart) in zip(one.parts, other.parts) where part != otherPart {
            return part.lexicographicallyPrecedes(otherPart)
        }
        return false
    }
}

extension Interaction {
    /// Undoes the content codings of both messages, if they are known here.
    ///
    /// A transport may have undone some before. The recorded chunks belong to the coded content, so they are dropped with it.
    mutating func decodeContent() {
        request.decodeContent()
        guard var decoded = response else { return }
        _ = decoded.decodeContent(of: request.method)
        if let before = response?.coding, let rest = decoded.coding, rest != before {
            decoded.coding = "\(before), \(rest)"
        }
        if decoded.body != response?.body { decoded.chunks = [] }
        response = decoded
    }

    /// Throws if content has a coding that was not undone, because its secrets cannot be found.
    func checkCoding(number: Int, file: String) throws(CassetteError) {
        let messages = [
            ("request \(number)", request.fields, request.body),
            ("the response to request \(number)", response?.fields ?? [:], response?.body ?? RecordedBody()),
        ]
        for (place, fields, body) in messages where !body.bytes.isEmpty {
            guard let coding = fields.contentCoding else { continue }
            throw CassetteError(
                file: file, place: place,
                reason:
                    "its Content-Encoding \(coding.debugDescription) cannot be undone, so secrets in it would not be "
                    + "found; ask for another coding, set `rules.content = .coded`, or change it in `rules.beforeRecording`"
            )
        }
    }
}

extension RecordedRequest {
    mutating func decodeContent() {
        guard !body.bytes.isEmpty, fields.contains(.contentEncoding) else { return }
        // The content of a request is coded by the same field and in the same codings.
        var message = RecordedResponse(status: 200, fields: fields, body: body)
        _ = message.decodeContent(of: method)
        (fields, body) = (message.fields, message.body)
    }
}

extension HTTPFields {
    /// The content codings that the fields name; nil if they name only `identity`.
    fileprivate var contentCoding: String? {
        guard let value = self[.contentEncoding] else { return nil }
        let codings = value.lowercased().split { $0 == "," || $0 == " " }
        return codings.allSatisfy { $0 == "identity" } ? nil : value
    }
}
