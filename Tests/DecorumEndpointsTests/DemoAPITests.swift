import DecorumDemo
import DecorumEndpoints
import DecorumTesting
import Foundation
import Testing

@Suite struct DemoAPITests {
    private struct Problem: Decodable, Equatable, Sendable { let code: String }
    private struct Profile: Decodable, Equatable, Sendable { let name: String }
    private struct Upload: Decodable, Sendable {
        struct Part: Decodable, Equatable, Sendable {
            let name: String?
            let filename: String?
            let type: String?
            let length: Int
        }
        let length: Int
        let parts: [Part]
    }

    @Test func `Notes are created, read and deleted`() async throws {
        let demo = try DemoAPI(noteCount: -1, eventCount: .max)
        let connection = try SystemConnection().calling(API(problem: Problem.self), at: demo.url)
        let draft = DemoNote(title: "One")
        let note = try await connection.value(of: Endpoint<DemoNote>.post("notes", content: .json(draft)))
        #expect(note == DemoNote(id: 1, title: "One"))
        let one = Endpoint<DemoNote>.get("notes/{id}", ["id": 1])
        #expect(try await connection.value(of: one) == note)
        try await connection.value(of: Endpoint<Void>.delete("notes/{id}", ["id": 1]))
        let error = await #expect(throws: RefusalError.self) { try await connection.value(of: one) }
        #expect(error?.status == .notFound && error?.problem(as: Problem.self) == Problem(code: "not_found"))
        let invalid = Endpoint<DemoNote>.post("notes", content: .json(DemoNote(title: "")))
        let refusal = await #expect(throws: RefusalError.self) { try await connection.value(of: invalid) }
        #expect(refusal?.status == .unprocessableContent)
        demo.stop()
    }

    @Test func `A token is valid until it expires`() async throws {
        let demo = try DemoAPI()
        let connection = SystemConnection()
        let login = try Request.post(
            demo.url + "login", fields: [.contentType: "application/x-www-form-urlencoded"],
            body: Body(Data("name=ann&password=open+sesame".utf8)))
        let answer = try await connection.send(login).decode([String: String].self, upTo: 1000)
        let token = try #require(answer["access_token"])
        let profile = try Request.get(demo.url + "profile", fields: [.authorization: "Bearer \(token)"])
        #expect(try await connection.send(profile).decode(Profile.self, upTo: 1000) == Profile(name: "ann"))
        demo.expireTokens()
        #expect(try await connection.send(profile).status == .unauthorized)
        demo.stop()
    }

    @Test func `An upload is told part by part`() async throws {
        let demo = try DemoAPI()
        let text =
            "--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n--b\r\nContent-Disposition: form-data; "
            + "name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n\r\n--b--\r\n"
        let request = try Request.post(
            demo.url + "files", fields: [.contentType: "multipart/form-data; boundary=b"], body: Body(Data(text.utf8)))
        let upload = try await SystemConnection().send(request).decode(Upload.self, upTo: 10_000)
        #expect(upload.length == text.utf8.count)
        #expect(
            upload.parts == [
                .init(name: "note", filename: nil, type: nil, length: 5),
                .init(name: "file", filename: "a.txt", type: "text/plain", length: 0),
            ])
        demo.stop()
    }

    @Test func `A flaky demo fails in turn, and a file has its name`() async throws {
        let demo = try DemoAPI()
        demo.failEvery(2)
        let connection = SystemConnection()
        let request = try Request.get(demo.url + "files/manual")
        let response = try await connection.send(request)
        #expect(response.suggestedFileName == "Manual é.txt")
        #expect(try await response.text(upTo: 1000) == "Read me first.\n")
        #expect(try await connection.send(request).status == .serviceUnavailable)
        #expect(try await connection.send(request).status == .ok)
        demo.stop()
    }
}
