package import Decorum
package import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization

/// A small API over notes on 127.0.0.1, for the tour, the documentation and tests.
///
/// ```swift
/// let demo = try DemoAPI()
/// let connection = try SystemConnection().resolving(against: demo.url)
/// let response = try await connection.send(.get("notes?per_page=2"))
/// ```
///
/// | request | answer |
/// |---|---|
/// | `GET notes?page=1&per_page=2` | a page of notes as a list; `Link` names the next, the previous, the first and the last |
/// | `GET feed?after=2&limit=2` | `{"items": […], "next": "4"}`; `next` is null on the last page |
/// | `GET notes/1` | one note with its `ETag`; 304 to `If-None-Match` |
/// | `POST notes` with `{"title": …, "text": …}` | 201, `Location` and the note; 422 without a title |
/// | `PUT notes/1` with a note and `If-Match` | the note; 412 for another version, 428 without the field |
/// | `DELETE notes/1` | 204 |
/// | `POST files` with `multipart/form-data` | 201 and what was received of each part |
/// | `GET files/manual` | a file with its name in `Content-Disposition` |
/// | `POST login` with the form `name` and `password` (`open sesame`) | a token, which is valid until ``expireTokens()`` |
/// | `GET profile` with `Authorization: Bearer …` | the name; 401 without a valid token |
/// | `GET events` | server-sent events, ended by the server after every third; 204 after the last |
/// | `GET log` | a line of JSON for each note |
///
/// An error has the form `{"code": "not_found", "message": "…"}`. The state is in memory, two demos share nothing, and the same
/// requests in the same order get the same answers: there is no date and no chance.
package final class DemoAPI: Sendable {
    /// The server, which can be questioned about its requests, and told to fail in further ways.
    package let origin: LoopbackOrigin
    private let book: DemoBook

    /// Starts the API.
    package init(noteCount: Int = 5, eventCount: Int = 7, clock: any DatedClock = SystemClock()) throws {
        let origin = try LoopbackOrigin(clock: clock)
        let book = DemoBook(noteCount: max(0, noteCount), eventCount: max(0, eventCount))
        self.origin = origin
        self.book = book
        let root = origin.url + Self.path
        origin.route(nil, Self.path + "*") { request in
            book.answer(to: request, below: Self.path, at: root)
        }
    }

    private static let path = "/v1/"

    /// The base URL, with a path and a slash at its end, as in `http://127.0.0.1:49152/v1/`.
    package var url: String { origin.url + Self.path }

    /// The password of each user.
    package static let password = "open sesame"

    /// Makes all tokens so far invalid, as time would.
    package func expireTokens() { book.state.withLock { $0.tokens = [:] } }

    /// Answers every request whose number is a multiple of a count with 503 and `Retry-After: 0`; the first has number 1.
    ///
    /// - Parameter count: The count, such as 2 for each second request; nil for no failures.
    package func failEvery(_ count: Int?) {
        book.state.withLock { state in
            state.failing = count
            state.requestCount = 0
        }
    }

    /// Changes a note, as another client would.
    package func changeNote(_ id: Int, title: String) {
        book.state.withLock { state in
            guard let note = state.notes[id] else { return }
            state.notes[id] = DemoNote(id: id, title: title, text: note.text, version: note.version + 1)
        }
    }

    /// Closes all sockets; see ``LoopbackOrigin/stop()``.
    package func stop() { origin.stop() }
}

/// A note of ``DemoAPI``.
package struct DemoNote: Sendable, Hashable, Codable, Identifiable {
    /// The number.
    package var id: Int
    /// The title, which is not empty.
    package var title: String
    /// The text.
    package var text: String
    /// The number of changes so far.
    package var version: Int

    /// Creates a note.
    package init(id: Int = 0, title: String, text: String = "", version: Int = 0) {
        self.id = id
        self.title = title
        self.text = text
        self.version = version
    }
}

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

    /// Answers a request below a folder, whose URL is the root.
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

extension DemoBook {
    private var sortedNotes: [DemoNote] { state.withLock { state in state.notes.values.sorted { $0.id < $1.id } } }

    func notes(_ query: DemoForm, at root: String) -> LoopbackOrigin.Answer {
        let notes = sortedNotes
        let size = min(query.number("per_page", else: 2), 100)
        let page = query.number("page", else: 1)
        let last = max(1, (notes.count + size - 1) / size)
        let numbers = [
            ("first", 1), ("prev", page > 1 ? page - 1 : nil), ("next", page < last ? page + 1 : nil), ("last", last),
        ]
        let links = numbers.compactMap { relation, number in
            number.map { "<\(root)notes?page=\($0)&per_page=\(size)>; rel=\"\(relation)\"" }
        }
        return .json(
            Array(notes.dropFirst((page - 1) * size).prefix(size)), fields: ["Link": links.joined(separator: ", ")])
    }

    func feed(_ query: DemoForm) -> LoopbackOrigin.Answer {
        let after = query["after"].flatMap { Int($0) } ?? 0
        let rest = sortedNotes.filter { $0.id > after }
        let items = Array(rest.prefix(query.number("limit", else: 2)))
        return .json(Feed(items: items, next: items.count < rest.count ? items.last.map { "\($0.id)" } : nil))
    }

    func note(_ id: Int, _ request: ReceivedRequest) -> LoopbackOrigin.Answer {
        state.withLock { state in
            guard let note = state.notes[id] else {
                return .problem(.notFound, "not_found", "There is no note \(id).")
            }
            switch request.method {
            case .get, .head:
                let isKnown = request.fields["If-None-Match"] == note.tag
                let fields: RawFields = ["ETag": note.tag]
                return isKnown ? .init(.notModified, fields: fields) : .json(note, fields: fields)
            case .put:
                guard let tag = request.fields["If-Match"] else {
                    return .problem(.preconditionRequired, "version_required", "Send If-Match.")
                }
                guard tag == note.tag || tag == "*" else {
                    return .problem(.preconditionFailed, "changed", "The note has changed.", fields: ["ETag": note.tag])
                }
                guard let draft = DemoNote(draft: request.body) else { return .invalidNote }
                let new = DemoNote(id: id, title: draft.title, text: draft.text, version: note.version + 1)
                state.notes[id] = new
                return .json(new, fields: ["ETag": new.tag])
            case .delete:
                state.notes[id] = nil
                return .init(.noContent)
            default:
                return .problem(
                    .methodNotAllowed, "method", "A note knows GET, PUT and DELETE.",
                    fields: ["Allow": "GET, HEAD, PUT, DELETE"])
            }
        }
    }

    func create(_ content: Data, at root: String) -> LoopbackOrigin.Answer {
        guard let draft = DemoNote(draft: content) else { return .invalidNote }
        return state.withLock { state in
            let note = DemoNote(id: state.nextID, title: draft.title, text: draft.text)
            state.nextID += 1
            state.notes[note.id] = note
            return .json(note, .created, fields: ["Location": "\(root)notes/\(note.id)", "ETag": note.tag])
        }
    }

    func log() -> LoopbackOrigin.Answer {
        let lines = sortedNotes.map { #"{"id":\#($0.id),"version":\#($0.version)}"# + "\n" }
        return .chunked(fields: ["Content-Type": "application/jsonl"], chunks: lines)
    }

    private struct Feed: Encodable {
        let items: [DemoNote]
        let next: String?
    }
}

extension DemoNote {
    fileprivate var tag: String { "\"\(id)-\(version)\"" }

    /// A note that a client has sent; nil if it has no title.
    fileprivate init?(draft content: Data) {
        struct Draft: Decodable {
            let title: String
            let text: String?
        }
        guard let draft = try? JSONDecoder().decode(Draft.self, from: content), !draft.title.isEmpty else { return nil }
        self.init(title: draft.title, text: draft.text ?? "")
    }
}

extension LoopbackOrigin.Answer {
    fileprivate static let invalidNote = problem(.unprocessableContent, "invalid", "A note needs a title.")
}

extension DemoBook {
    func upload(_ request: ReceivedRequest) -> LoopbackOrigin.Answer {
        let mediaType = request.fields["Content-Type"] ?? ""
        guard mediaType.lowercased().hasPrefix("multipart/form-data"),
            let boundary = mediaType.range(of: "boundary=").map({ mediaType[$0.upperBound...] })
        else {
            return .problem(.unsupportedMediaType, "media_type", "Send multipart/form-data.")
        }
        let name = boundary.prefix { $0 != ";" }.filter { $0 != "\"" }
        let parts = DemoPart.parts(of: request.body, between: "--" + name)
        return .json(DemoUpload(length: request.bodyLength, parts: parts), .created)
    }

    func file(_ name: String) -> LoopbackOrigin.Answer {
        guard name == "manual" else { return .problem(.notFound, "not_found", "There is no such file.") }
        return .init(
            fields: [
                "Content-Type": "text/plain; charset=utf-8",
                "Content-Disposition": #"attachment; filename="manual.txt"; filename*=UTF-8''Manual%20%C3%A9.txt"#,
            ], body: "Read me first.\n")
    }

    func login(_ form: DemoForm) -> LoopbackOrigin.Answer {
        guard let name = form["name"], !name.isEmpty, form["password"] == DemoAPI.password else {
            return .problem(.unauthorized, "wrong_password", "The name or the password is wrong.")
        }
        let token = state.withLock { state in
            state.tokenCount += 1
            let token = "demo-token-\(state.tokenCount)"
            state.tokens[token] = name
            return token
        }
        return .json(["access_token": token, "token_type": "Bearer"])
    }

    func profile(_ request: ReceivedRequest) -> LoopbackOrigin.Answer {
        let token = request.fields["Authorization"].flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : nil }
        guard let token, let name = state.withLock({ $0.tokens[token] }) else {
            return .problem(
                .unauthorized, "invalid_token", "Log in first.", fields: ["WWW-Authenticate": "Bearer"])
        }
        return .json(["name": name])
    }

    /// Three events at most, after which the client has to ask for the next ones.
    func events(after id: String?) -> LoopbackOrigin.Answer {
        let last = id.flatMap { Int($0) }.map { max(0, $0) } ?? 0
        guard last < eventCount else { return .init(.noContent) }
        let chunks = (last + 1...last + min(3, eventCount - last)).map { number in
            "id: \(number)\nevent: note\ndata: {\"note\": \(number),\ndata: \"change\": \"read\"}\n\n"
        }
        return .chunked(
            fields: ["Content-Type": "text/event-stream", "Cache-Control": "no-store"],
            chunks: ["retry: 1\n\n"] + chunks)
    }
}

/// The answer to an upload.
package struct DemoUpload: Sendable, Codable {
    package let length: Int64
    private let parts: [DemoPart]

    fileprivate init(length: Int64, parts: [DemoPart]) {
        (self.length, self.parts) = (length, parts)
    }
}

/// A part of an upload as it was received.
private struct DemoPart: Sendable, Codable {
    let name: String?
    let filename: String?
    let type: String?
    let length: Int

    /// The parts of the content that was kept.
    static func parts(of content: Data, between delimiter: String) -> [DemoPart] {
        var parts: [DemoPart] = []
        var rest = content[...]
        var start = rest.range(of: Data(delimiter.utf8))
        while let begin = start {
            rest = rest[begin.upperBound...]
            guard rest.starts(with: Data("\r\n".utf8)) else { break }
            start = rest.range(of: Data("\r\n\(delimiter)".utf8))
            guard let end = start, let blank = rest.range(of: Data("\r\n\r\n".utf8)) else { break }
            let head = String(decoding: rest[..<blank.lowerBound], as: UTF8.self)
            parts.append(
                DemoPart(
                    name: parameter("name", in: head), filename: parameter("filename", in: head),
                    type: head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-type:") }
                        .map { $0.dropFirst(13).trimmingCharacters(in: .whitespaces) },
                    length: max(0, end.lowerBound - blank.upperBound)))
        }
        return parts
    }

    private static func parameter(_ name: String, in head: String) -> String? {
        guard let start = head.range(of: " \(name)=\"") else { return nil }
        return String(head[start.upperBound...].prefix { $0 != "\"" })
    }
}
