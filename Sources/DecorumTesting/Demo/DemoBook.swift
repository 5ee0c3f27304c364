import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// The state of a demo, and its answers.
final class DemoBook: Sendable {
    struct State {
        var notes: [Int: DemoNote]
        var nextID: Int
        var tokens: [String: String] = [:]
        var tokenCount = 0
        var requestCount = 0
        var failing: Int?
    }

    let state: Mutex<State>
    let eventCount: Int

    init(noteCount: Int, eventCount: Int) {
        let noteCount = max(0, noteCount)
        let notes = (0..<noteCount).map { index in
            DemoNote(id: index + 1, title: "Note \(index + 1)", text: "The text of note \(index + 1).")
        }
        state = Mutex(
            State(notes: Dictionary(uniqueKeysWithValues: notes.map { ($0.id, $0) }), nextID: noteCount + 1))
        self.eventCount = eventCount
    }

    /// Answers a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - folder: The path that all requests begin with.
    ///   - root: The URL of that path.
    /// - Returns: The answer.
    func answer(to request: ReceivedRequest, below folder: String, at root: String) -> LoopbackOrigin.Answer {
        let fails = state.withLock { state in
            state.requestCount += 1
            return state.failing.map { $0 > 0 && state.requestCount.isMultiple(of: $0) } ?? false
        }
        if fails {
            return .problem(.serviceUnavailable, "unavailable", "Try again.", fields: ["Retry-After": "0"])
        }
        let path = request.path.dropFirst(folder.count).split(separator: "/").map(String.init)
        let query = DemoForm(request.query ?? "")
        switch (request.method, path.first, path.count) {
        case (.get, "notes", 1), (.head, "notes", 1): return notes(query, at: root)
        case (.get, "feed", 1): return feed(query)
        case (.post, "notes", 1): return create(request.body, at: root)
        case (_, "notes", 2): return note(Int(path[1]) ?? 0, request)
        case (.post, "files", 1): return upload(request)
        case (.get, "files", 2): return file(path[1])
        case (.post, "login", 1): return login(DemoForm(request.text))
        case (.get, "profile", 1): return profile(request)
        case (.get, "events", 1): return events(after: request.fields["Last-Event-ID"])
        case (.get, "log", 1): return log()
        default: return .problem(.notFound, "not_found", "There is no such resource.")
        }
    }
}

extension LoopbackOrigin.Answer {
    /// A value in JSON.
    static func json(
        _ value: some Encodable, _ status: HTTPResponse.Status = .ok, fields: RawFields = [:]
    ) -> Self {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let content = try? encoder.encode(value) else { return .init(.internalServerError) }
        var fields = fields
        fields.lines.append(.init(name: "Content-Type", value: "application/json"))
        return .init(status, fields: fields, body: content)
    }

    /// An error of the API.
    static func problem(
        _ status: HTTPResponse.Status, _ code: String, _ message: String, fields: RawFields = [:]
    ) -> Self {
        .json(["code": code, "message": message], status, fields: fields)
    }
}

/// The items of a query or a form.
struct DemoForm {
    private let items: [(name: String, value: String)]

    init(_ text: String) {
        items = text.split(separator: "&").map { item in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let decoded = parts.map { String(decoding: PercentCoding.decode(Array($0.utf8)[...]), as: UTF8.self) }
            return (decoded[0], decoded.count > 1 ? decoded[1] : "")
        }
    }

    subscript(_ name: String) -> String? { items.first { $0.name == name }?.value }

    /// A number from 1 on; another text counts as the number that is given.
    func number(_ name: String, else number: Int) -> Int {
        self[name].flatMap { Int($0) }.flatMap { $0 > 0 ? min($0, 1 << 20) : nil } ?? number
    }
}
