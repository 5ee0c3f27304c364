import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The parts of a request that a server finds wrong.
@Suite struct FieldProblemTests {
    private func error(_ json: String, status: HTTPResponse.Status = .unprocessableContent) async throws -> StatusError
    {
        let response = Response(
            status: status, fields: [.contentType: "application/problem+json"], body: Body(json))
        return try await #require(throws: StatusError.self) {
            try await StubConnection(response).validatingStatus().send(.post("https://a.example/issues", body: "{}"))
        }
    }

    @Test(
        arguments: [
            (
                #"{"message": "Validation Failed", "errors": [{"resource": "Issue", "field": "title", "code": "missing_field"},"#
                    + #" {"resource": "Issue", "field": "labels", "code": "custom", "message": "No such label"}]}"#,
                ["Issue.title (missing_field) -", "Issue.labels (custom) No such label"]
            ),
            (
                ##"{"title": "Invalid", "errors": [{"detail": "must be positive", "pointer": "#/age"}, {"pointer": "#/items/0"}]}"##,
                ["#/age must be positive", "#/items/0 -"]
            ),
            (#"{"invalid-params": [{"name": "age", "reason": "too low"}]}"#, ["age too low"]),
            (
                #"{"errors": [{"code": "E1", "title": "Bad", "detail": "Too long", "source": {"pointer": "/data/name"}}]}"#,
                ["/data/name (E1) Too long"]
            ),
            (
                #"{"errors": {"name": ["is blank", "is short"], "age": "is low"}}"#,
                ["age is low", "name is blank is short"]
            ),
            (
                #"{"detail": [{"loc": ["body", "items", 0], "msg": "field required", "type": "value_error.missing"}]}"#,
                ["body.items.0 (value_error.missing) field required"]
            ),
            (#"{"errors": ["Name is blank"]}"#, ["- Name is blank"]),
            (#"{"errors": [1, null, {}], "message": "No"}"#, []), (#"{"errors": "No"}"#, []), ("{}", []),
        ] as [(String, [String])])
    func `The forms in use are read`(json: String, problems: [String]) async throws {
        let found = try await error(json).fieldProblems.map { problem in
            [problem.name ?? "-", problem.code.map { "(\($0))" }, problem.words ?? (problem.name == nil ? nil : "-")]
                .compactMap { $0 }.joined(separator: " ")
        }
        #expect(found == problems)
    }

    @Test func `The description shows names and codes, and tells where the words are`() async throws {
        let json =
            #"{"message": "Validation Failed", "errors": [{"resource": "Issue", "field": "title", "#
            + #""code": "missing_field"}, {"field": "labels", "message": "hunter2 is no label"}]}"#
        let error = try await error(json)
        #expect(error.description.contains("The server names the fields Issue.title (missing_field), labels."))
        #expect(error.fieldProblems[1].words == "hunter2 is no label")
        #expect(!String(reflecting: error).contains("hunter2"))
        #expect(!error.localizedDescription.contains("hunter2"))
    }

    @Test(arguments: [
        "ghp_0123456789abcdefghijABCDEFGHIJ012345", "my password is hunter2", "4111111111111111", "",
        String(repeating: "a", count: 81), "a\\nb",
    ]) func `A name that may be a value is not shown`(name: String) async throws {
        for json in [
            #"{"errors": [{"field": "\#(name)", "code": "\#(name)", "message": "No"}]}"#,
            #"{"errors": {"\#(name)": "No"}}"#,
        ] {
            let error = try await error(json)
            #expect(error.fieldProblems.map(\.name) == [nil])
            #expect(error.fieldProblems.map(\.code) == [nil])
            #expect(!error.description.contains("refuses"))
        }
    }

    @Test func `Of many problems the first twenty are kept`() async throws {
        let entries = (0..<50).map { #"{"field": "f\#($0)"}"# }.joined(separator: ",")
        #expect(try await error(#"{"errors": [\#(entries)]}"#, status: .badRequest).fieldProblems.count == 20)
    }
}
