import DecorumEndpoints
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

struct Note: Codable, Hashable, Sendable {
    var id: Int
    var title: String
    var text: String
}

struct Draft: Encodable, Sendable {
    var title: String
    var text = ""
}

struct Problem: Decodable, Sendable {
    let code: String
    let message: String
}

extension API {
    static var notes: API {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return API(decoder: decoder, limit: 1 << 20, problem: Problem.self)
    }
}

extension Endpoint where Value == [Note] {
    static var notes: Self { .get("notes", query: ["per_page": 2]) }
}

extension Endpoint where Value == Note {
    static func detail(_ id: Int) -> Self { .get("notes/{id}", ["id": id]) }
    static func creating(_ draft: Draft) -> Self { .post("notes", content: .json(draft)) }
    static func saving(_ note: Note) -> Self { .put("notes/{id}", ["id": note.id], content: .json(note)) }
}

extension Endpoint where Value == Void {
    static func deletingNote(_ id: Int) -> Self { .delete("notes/{id}", ["id": id]) }
}

struct NotesClient: Sendable {
    let connection: any Connection
}

extension NotesClient {
    func note(_ id: Int) async throws -> Note? {
        try await connection.value(of: Endpoint<Note>.detail(id).nilIfMissing())
    }

    func delete(_ note: Note) async throws {
        try await connection.value(of: .deletingNote(note.id))
    }
}

extension NotesClient {
    func notes() -> Pages<[Note], Note> {
        connection.elements(of: .notes)
    }
}

extension NotesClient {
    func create(_ draft: Draft) async throws -> Note {
        do {
            return try await connection.value(of: .creating(draft))
        } catch let error as RefusalError {
            guard let problem = error.problem(as: Problem.self), problem.code == "invalid" else { throw error }
            throw DraftError(reason: problem.message)
        }
    }
}

struct DraftError: Error {
    let reason: String
}

extension NotesClient {
    func rename(_ id: Int, to title: String) async throws -> Note {
        var note = try await connection.versioned(of: .detail(id))
        note.value.title = title
        return try await connection.update(note, by: .saving(note.value)).value
    }
}

struct Receipt: Decodable, Sendable {
    struct Part: Decodable, Sendable {
        let filename: String?
        let length: Int
    }

    let parts: [Part]
}

extension Endpoint where Value == Receipt {
    static func attaching(_ file: URL, titled title: String) throws -> Self {
        var form: Multipart = ["title": title]
        try form.append("file", file: file)
        var endpoint = Self.post("files", content: .multipart(form))
        endpoint.options.timePolicy = .transfer
        return endpoint
    }
}

extension NotesClient {
    func attach(_ file: URL, titled title: String, progress: @escaping ProgressReport) async throws -> Receipt {
        try await connection.value(of: .attaching(file, titled: title).reportingUpload(to: progress))
    }
}

struct Token: Decodable, Sendable {
    let accessToken: String
}

extension Endpoint where Value == Token {
    static func token(for name: String, password: String) -> Self {
        .post("login", content: .form(["name": name, "password": password]))
    }
}

actor SignInSession: CredentialSource {
    nonisolated let servesOneUser = true
    private let signIn: @Sendable () async throws -> Token
    private var task: Task<Token, any Error>?
    private var token: Token?

    init(_ signIn: @escaping @Sendable () async throws -> Token) {
        self.signIn = signIn
    }

    func credentials(for attempt: AuthenticationAttempt) async throws -> Credentials? {
        let task = task ?? Task { [signIn] in try await signIn() }
        self.task = task
        do {
            let token = try await task.value
            if self.task == task { self.token = token }
            return try .bearer(token.accessToken)
        } catch {
            if self.task == task { self.task = nil }
            throw error
        }
    }

    func learn(from answer: AuthenticationAnswer) {
        guard answer.head.status == .unauthorized, let token else { return }
        guard answer.request.headerFields[.authorization] == "Bearer \(token.accessToken)" else { return }
        (self.task, self.token) = (nil, nil)
    }
}

extension NotesClient {
    init(
        at url: String, name: String, password: String, generator: any RandomGenerator = SystemGenerator()
    ) throws {
        let stack = StandardStack(for: url)
        let door = try stack.composed().calling(.notes)
        let session = SignInSession { try await door.value(of: .token(for: name, password: password)) }
        let retries = RetryPolicy(when: .standard || .status(401), budget: .perCall(2))
        connection = try stack.composed(
            authentication: .from(session), principal: Principal(name),
            adding: [.inPlace(of: .retries) { $0.retrying(retries, generator: generator) }], generator: generator
        ).calling(.notes)
    }
}

struct Profile: Decodable, Sendable {
    let name: String
}

extension NotesClient {
    func profile() async throws -> Profile {
        try await connection.value(of: .get("profile"))
    }
}

struct Change: Decodable, Sendable {
    let note: Int
}

extension NotesClient {
    func changes(after id: String = "") throws -> EventStream {
        try connection.events(of: Endpoint<Void>.get("events"), after: id)
    }
}

/// The listings of the afternoon that are no declarations, with the demo that they talk to.
enum AfternoonListings {
    static func first(at url: String) throws -> NotesClient {
        let stack = StandardStack(for: url)
        let client = NotesClient(connection: try stack.composed().calling(.notes))
        return client
    }

    static func titles(_ client: NotesClient) async throws -> [String] {
        var titles: [String] = []
        for try await note in client.notes() {
            titles.append(note.title)
            if titles.count == 3 { break }
        }
        return titles
    }

    static func merge(_ note: Versioned<Note>, _ connection: any Connection) async throws -> Versioned<Note> {
        do {
            return try await connection.update(note, by: .saving(note.value))
        } catch let conflict as ConflictError<Note> {
            guard var current = conflict.current else { throw conflict }
            current.value.text = note.value.text
            return try await connection.update(current, by: .saving(current.value))
        }
    }

    @MainActor final class Bar {
        var fraction = 0.0
    }

    @MainActor static func upload(_ client: NotesClient, _ photo: URL, in bar: Bar) async throws -> Receipt {
        let receipt = try await client.attach(photo, titled: "Summer") { @MainActor progress in
            bar.fraction = progress.fraction ?? 0
        }
        return receipt
    }

    static func follow(_ client: NotesClient) async throws -> (notes: [Int], last: String) {
        var notes: [Int] = []
        var last = ""
        for try await event in try client.changes() where event.type == "note" {
            notes.append(try await event.decode(Change.self).note)
            last = event.id
        }
        return (notes, last)
    }

    static func missing() async throws {
        let stub = StubConnection(Response(status: .notFound, body: #"{"code": "not_found", "message": "Gone."}"#))
        let client = NotesClient(connection: try stub.calling(.notes, at: "https://api.example.com/v1/"))
        #expect(try await client.note(7) == nil)
        #expect(stub.requests.map(\.head.path) == ["/v1/notes/7"])
    }
}
