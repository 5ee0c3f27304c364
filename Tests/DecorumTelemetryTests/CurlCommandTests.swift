import Decorum
import DecorumTelemetry
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(2))) struct CurlCommandTests {
    @Test func `A request with secrets is a command with variables`() throws {
        var request = try Request.post(
            "https://api.example/items?token=s3cret&page=2",
            fields: [.authorization: "Bearer s3cret", .contentType: "application/json", .accept: "*/*"],
            body: #"{"password":"s3cret","note":"it's"}"#)
        request.head.headerFields[try #require(HTTPField.Name("X-Device"))] = "s3cret"
        request.options.secretFields = [try #require(HTTPField.Name("X-Device"))]
        #expect(
            request.curlCommand() == #"""
                curl 'https://api.example/items?token='"$SECRET_TOKEN"'&page=2' \
                  -H 'Authorization: '"$SECRET_AUTHORIZATION" \
                  -H 'Content-Type: application/json' \
                  -H 'Accept: */*' \
                  -H 'X-Device: '"$SECRET_X_DEVICE" \
                  --data-raw '{"password":"'"$SECRET_PASSWORD"'","note":"it'\''s"}'
                """#)
        #expect(request.curlCommand(redacting: .none).contains("Bearer s3cret"))
    }

    @Test func `Two secrets of one name are two variables, and no variable is one of the shell's own`() throws {
        var request = try Request.get("https://a.example/?token=s3cret&x=1&token=0ther&home=me")
        request.options.secretQueryItems = ["home"]
        let command = request.curlCommand()
        #expect(
            command
                == #"curl 'https://a.example/?token='"$SECRET_TOKEN"'&x=1&token='"$SECRET2_TOKEN"'&home='"$SECRET_HOME""#
        )
    }

    @Test func `A body that is no short text with names is a file that a variable names`() throws {
        let bodies: [(String, Body)] = [
            ("x-www-form-urlencoded", Body(Data([0xFF, 0xFE]))), ("x-www-form-urlencoded", "a\0b"),
            ("x-www-form-urlencoded", "\u{1B}[31m"), ("json", Body(String(repeating: "1", count: 10_001))),
            ("json", Body(chunks: AsyncStream { $0.finish() })), ("yaml", "password: s3cret"), ("jwt", "s3cret"),
            ("xml", "s3cret"),
        ]
        for (type, body) in bodies {
            let command = try Request.post(
                "https://a.example/", fields: [.contentType: "application/\(type)"], body: body
            ).curlCommand()
            #expect(command.hasSuffix(#"--data-binary "@$BODY""#))
            #expect(command.utf8.count < 200)
        }
    }

    #if os(macOS) || os(Linux)
    /// Runs commands with a curl that writes its arguments in hexadecimal digits, one a line.
    private func arguments(of commands: [String]) async throws -> [[String]] {
        let curl = "for argument; do printf %s \"$argument\" | od -An -v -tx1 | tr -d ' \\n'; echo; done; echo end"
        let script = "curl() {\n\(curl)\n}\n" + commands.joined(separator: "\n")
        let output = try await RunningScript.output(
            of: "SECRET_AUTHORIZATION=me SECRET_TOKEN=a sh commands", files: ["commands": Data(script.utf8)])
        return String(decoding: output, as: UTF8.self).split(separator: "end\n", omittingEmptySubsequences: false)
            .dropLast().map { lines in
                lines.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { line in
                    let bytes = stride(from: 0, to: line.count, by: 2).compactMap { index in
                        UInt8(line.dropFirst(index).prefix(2), radix: 16)
                    }
                    return String(decoding: bytes, as: UTF8.self)
                }
            }
    }

    @Test func `A shell gives each value to curl as it is`() async throws {
        let generator = SeededGenerator(seed: 22)
        let alphabet = Array("'\"\\$`!&|;<>()[]{}*?~#% \t\n=@-,é日\u{301}👩‍👩‍👧\u{1B}\u{7F}\u{85}\u{202E}\u{2028}ab0").map(
            String.init)
        let name = try #require(HTTPField.Name("X-Note"))
        var requests: [Request] = []
        for _ in 0..<100 {
            func text() -> String {
                (0..<generator.next() % 20).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] }
                    .joined()
            }
            var head = HTTPRequest(method: .put, scheme: "https", authority: "a.example", path: "/" + text())
            head.headerFields[name] = text()
            head.headerFields[.contentType] = "text/x-note"
            requests.append(Request(head: head, body: Body(text().filter { $0.isLetter || "'\"\\$`\n".contains($0) })))
        }

        let runs = try await arguments(of: requests.map { $0.curlCommand(redacting: .none) })
        #expect(runs.count == requests.count)
        for (request, run) in zip(requests, runs) {
            let value = request.head.headerFields[name] ?? ""
            #expect(run.contains("https://a.example" + (request.head.path ?? "")))
            #expect(run.contains(value.isEmpty ? "X-Note;" : "X-Note: \(value)"))
            let body = String(decoding: request.body.bytes ?? Data(), as: UTF8.self)
            #expect(body.isEmpty || run.suffix(2) == ["--data-raw", body])
        }
    }

    @Test func `A shell puts the variables into their places, and options are of this kind`() async throws {
        let dotted = HTTPRequest(method: .post, scheme: "https", authority: "a.example", path: "/[1]/../x")
        let requests = [
            try Request.get("https://a.example/?token=s3cret", fields: [.authorization: "Bearer s3cret"]),
            try Request(.head, "https://a.example/", body: Body(Data("a".utf8))),
            Request(head: dotted, body: Body(Data("a".utf8))), try Request.delete("https://a.example/"),
        ]
        let runs = try await arguments(of: requests.map { $0.curlCommand() })
        #expect(
            runs == [
                ["https://a.example/?token=a", "-H", "Authorization: me"], ["--head", "https://a.example/"],
                [
                    "--globoff", "--path-as-is", "https://a.example/[1]/../x", "-H", "content-type:", "--data-binary",
                    "@",
                ],
                ["-X", "DELETE", "https://a.example/"],
            ])
    }
    #endif
}
