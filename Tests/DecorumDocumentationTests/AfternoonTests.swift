import DecorumDemo
import DecorumEndpoints
import DecorumTesting
import Foundation
import Testing

/// Runs the client of the page “An API client in an afternoon” against the demo that it is written for.
@Suite(.timeLimit(.minutes(3))) struct AfternoonTests {
    /// Chance that makes every wait as short as it may be.
    private struct NoJitter: RandomGenerator {
        func next() -> UInt64 { 0 }
    }

    private func signedIn(_ demo: DemoAPI) throws -> NotesClient {
        try NotesClient(at: demo.url, name: "ann", password: DemoAPI.password, generator: NoJitter())
    }

    @Test func `Both stacks are in order`() throws {
        let demo = try DemoAPI()
        let (first, last) = (try AfternoonListings.first(at: demo.url), try signedIn(demo))
        #expect(first.connection.findings.isEmpty, "\(first.connection.findings)")
        #expect(last.connection.findings.isEmpty, "\(last.connection.findings)")
    }

    @Test func `Notes are listed, read, created, renamed and deleted`() async throws {
        let demo = try DemoAPI(noteCount: 5)
        let client = try AfternoonListings.first(at: demo.url)
        #expect(try await AfternoonListings.titles(client) == ["Note 1", "Note 2", "Note 3"])
        #expect(demo.origin.requests.count == 2)

        #expect(try await client.note(2)?.title == "Note 2")
        #expect(try await client.note(99) == nil)
        let note = try await client.create(Draft(title: "Shopping", text: "Milk"))
        #expect(note == Note(id: 6, title: "Shopping", text: "Milk"))
        let error = await #expect(throws: DraftError.self) { try await client.create(Draft(title: "")) }
        #expect(error?.reason == "A note needs a title.")
        #expect(try await client.rename(6, to: "Groceries").title == "Groceries")
        try await client.delete(note)
        #expect(try await client.note(6) == nil)
    }

    @Test func `A change of another client is kept`() async throws {
        let demo = try DemoAPI()
        let client = try AfternoonListings.first(at: demo.url)
        var note = try await client.connection.versioned(of: .detail(1))
        demo.changeNote(1, title: "Theirs")
        note.value.text = "Mine"
        let merged = try await AfternoonListings.merge(note, client.connection)
        #expect(merged.value == Note(id: 1, title: "Theirs", text: "Mine"))
    }

    @Test @MainActor func `A file arrives whole, and its progress ends at one`() async throws {
        let demo = try DemoAPI()
        let photo = FileManager.default.temporaryDirectory.appending(path: "afternoon-\(UUID()).png")
        try Data(repeating: 7, count: 300_000).write(to: photo)
        defer { try? FileManager.default.removeItem(at: photo) }
        let bar = AfternoonListings.Bar()
        let receipt = try await AfternoonListings.upload(AfternoonListings.first(at: demo.url), photo, in: bar)
        #expect(bar.fraction == 1)
        #expect(receipt.parts.map(\.filename) == [nil, photo.lastPathComponent])
        #expect(receipt.parts.map(\.length) == [6, 300_000])
    }

    @Test func `One login serves many requests, and an expired token is replaced once`() async throws {
        let demo = try DemoAPI()
        let client = try signedIn(demo)
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<5 { group.addTask { try await client.profile().name } }
            for try await name in group { #expect(name == "ann") }
        }
        demo.expireTokens()
        #expect(try await client.profile().name == "ann")
        #expect(demo.origin.requests.count { $0.path == "/v1/login" } == 2)
        let words = demo.origin.requests.filter { $0.path == "/v1/login" }.map(\.text)
        #expect(words.allSatisfy { $0 == "name=ann&password=open+sesame" })
    }

    @Test func `A wrong password is an error of the call, and is not tried again`() async throws {
        let demo = try DemoAPI()
        let client = try NotesClient(at: demo.url, name: "ann", password: "wrong", generator: NoJitter())
        let error = await #expect(throws: CredentialSourceError.self) { try await client.profile() }
        #expect((error?.underlying as? RefusalError)?.problem(as: Problem.self)?.code == "wrong_password")
        #expect(demo.origin.requests.map(\.path) == ["/v1/login"])
    }

    @Test func `Events arrive once each, and go on after a break`() async throws {
        let demo = try DemoAPI(eventCount: 7)
        let client = try AfternoonListings.first(at: demo.url)
        let followed = try await AfternoonListings.follow(client)
        #expect(followed.notes == Array(1...7))
        #expect(followed.last == "7")
    }

    @Test func `A flaky server is asked again, and is not asked to create twice`() async throws {
        let demo = try DemoAPI()
        let client = try signedIn(demo)
        _ = try await client.profile()
        demo.origin.forgetRequests()
        demo.failEvery(2)
        #expect(try await client.note(1)?.id == 1)
        #expect(try await client.note(2)?.id == 2)
        #expect(demo.origin.requests.map(\.path) == ["/v1/notes/1", "/v1/notes/2", "/v1/notes/2"])
        let error = await #expect(throws: RefusalError.self) { try await client.create(Draft(title: "Once")) }
        #expect(error?.status == .serviceUnavailable)
        #expect(demo.origin.requests.count { $0.method == .post } == 1)
    }

    @Test func `A test needs no server`() async throws {
        try await AfternoonListings.missing()
    }
}
