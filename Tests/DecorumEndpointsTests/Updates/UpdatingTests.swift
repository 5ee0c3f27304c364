import DecorumDemo
import DecorumTesting
import Foundation
import Testing

@testable import DecorumEndpoints

extension Endpoint where Value == DemoNote {
    fileprivate static func note(_ id: Int) -> Self { .get("notes/{id}", ["id": id]) }
    fileprivate static func saving(_ note: DemoNote) -> Self {
        .put("notes/{id}", ["id": note.id], content: .json(note))
    }
}

@Suite struct UpdatingTests {
    @Test func `An update of the version that was read is stored, and gives the next version`() async throws {
        let demo = try DemoAPI()
        let connection = try SystemConnection().calling(at: demo.url)
        var note = try await connection.versioned(of: .note(1))
        note.value.title = "Monday"
        note = try await connection.update(note, by: .saving(note.value))
        #expect(note.value.title == "Monday" && note.version.entityTag == #""1-1""#)
        note.value.title = "Tuesday"
        note = try await connection.update(note, by: .saving(note.value))
        #expect(note.value.version == 2)
        #expect(demo.origin.requests.map { $0.fields["If-Match"] } == [nil, #""1-0""#, #""1-1""#])
        demo.stop()
    }

    @Test func `A conflict carries the current value, with which the update succeeds`() async throws {
        let demo = try DemoAPI()
        let connection = try SystemConnection().calling(at: demo.url)
        var note = try await connection.versioned(of: .note(1))
        demo.changeNote(1, title: "Changed by another")
        note.value.text = "My text"
        let conflict = await #expect(throws: ConflictError<DemoNote>.self) {
            try await connection.update(note, by: .saving(note.value))
        }
        var current = try #require(conflict?.current)
        #expect(current.value.title == "Changed by another")
        #expect(conflict?.base.value.text == "My text")
        #expect(conflict?.description.contains("Changed by another") == false)
        current.value.text = note.value.text
        note = try await connection.update(current, by: .saving(current.value))
        #expect(note.value.title == "Changed by another" && note.value.text == "My text")
        demo.stop()
    }

    @Test func `A conflict after a second attempt says that it may be the own change`() async throws {
        let current = try Response(status: .ok, fields: [.eTag: #""a""#], body: Body(json: DemoNote(title: "a")))
        let stub = StubConnection(answers: [
            { _ in current }, { _ in throw TransportError(.connectionLost, at: .head) },
            { _ in Response(status: .preconditionFailed) }, { _ in current },
        ])
        let connection = try stub.retrying(clock: ImpatientClock()).resolving(against: "https://api.example.com/")
        let note = try await connection.versioned(of: .note(1))
        let conflict = await #expect(throws: ConflictError<DemoNote>.self) {
            try await connection.update(note, by: .saving(note.value))
        }
        #expect(conflict?.mayBeOwnChange == true)
        #expect(conflict?.description.contains("was sent 2 times") == true)
    }

    @Test func `A value that cannot be read after a conflict says why`() async throws {
        let stub = StubConnection(
            Response(status: .ok, fields: [.eTag: #""a""#], body: Body(Data("1".utf8))),
            Response(status: .preconditionFailed), Response(status: .notFound))
        let endpoint = Endpoint<Int>.get("https://api.example.com/number")
        let number = try await stub.versioned(of: endpoint)
        let conflict = await #expect(throws: ConflictError<Int>.self) {
            try await stub.update(number, by: .put("https://api.example.com/number", content: .json(2)))
        }
        #expect(conflict?.current == nil)
        #expect((conflict?.readingError as? RefusalError)?.status == .notFound)
        #expect(stub.requests[2].head.headerFields[.cacheControl] == "no-cache")
    }

    @Test func `Another refusal passes unchanged`() async throws {
        let stub = StubConnection(
            Response(status: .ok, fields: [.eTag: #""a""#], body: Body(Data("1".utf8))),
            Response(status: .preconditionRequired))
        let number = try await stub.versioned(of: Endpoint<Int>.get("https://api.example.com/number"))
        let error = await #expect(throws: RefusalError.self) {
            try await stub.update(number, by: .put("https://api.example.com/number", content: .json(2)))
        }
        #expect(error?.status == .preconditionRequired)
    }

    @Test(
        arguments: [
            (#""a""#, nil, HTTPField.Name.ifMatch), (#"W/"a""#, "Mon, 01 Jan 2024 00:00:00 GMT", .ifUnmodifiedSince),
            (nil, "Mon, 01 Jan 2024 00:00:00 GMT", .ifUnmodifiedSince), (#"W/"a""#, nil, nil), (nil, nil, nil),
        ] as [(String?, String?, HTTPField.Name?)])
    func `A version gives the field that it can`(tag: String?, date: String?, field: HTTPField.Name?) async throws {
        let version = Version(entityTag: tag, lastModified: date)
        #expect(version.precondition?.name == field)
        guard field == nil else { return }
        let stub = StubConnection()
        let endpoint = Endpoint<Int>.get("https://api.example.com/number")
        await #expect(throws: MissingVersionError.self) {
            try await stub.update(Versioned(1, version: version, source: endpoint), by: endpoint)
        }
        #expect(stub.requests.isEmpty)
    }
}
