import Decorum
import DecorumArchive
import DecorumTelemetry
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(3))) struct HARReportTests {
    private typealias Examples = WaterfallExamples

    private func entry(_ report: CallReport) throws -> HAR.Entry {
        let archive = try HAR(HAR([report]).document())
        #expect(archive.entries.count == 1)
        return try #require(archive.entries.first)
    }

    @Test func `The measured parts of an exchange are its timings`() throws {
        let entry = try entry(Examples.measured())
        #expect(
            entry.timings == HAR.Timings(blocked: 10, dns: 10, connect: 40, send: 0, wait: 20, receive: 20, ssl: 20))
        var queued = Examples.measured()
        queued.timings?.queued = .milliseconds(4)
        #expect(
            try self.entry(queued).timings
                == HAR.Timings(blocked: 14, dns: 6, connect: 40, send: 0, wait: 20, receive: 20, ssl: 20))
        #expect(entry.time == 100)
        #expect(entry.startedAt == Examples.measured().startedAt)
        #expect(entry.request.method == "GET" && entry.request.url == "https://a.example/feed?page=2")
        #expect(entry.request.httpVersion == "HTTP/2" && entry.serverIPAddress == "192.0.2.1")
        #expect(entry.request.headers.isEmpty && entry.request.postData == nil && entry.request.bodySize == 12)
        #expect(entry.response.status == 200 && entry.response.bodySize == 1024 && entry.response.content.size == 5120)
    }

    @Test func `Without measured parts, the head divides the time`() throws {
        let retried = try entry(Examples.retried())
        #expect(retried.timings == HAR.Timings(wait: 1800, receive: 200))
        #expect(retried.time == 2000 && retried.request.httpVersion == "unknown")

        let failed = try entry(Examples.failed())
        #expect(failed.timings == HAR.Timings(wait: 1000))
        #expect(failed.response.status == 0 && failed.response.failure == "The request timed out.")
    }

    @Test func `Each attempt with a report has an entry in place of that of its call`() {
        var attempts = [Examples.measured(at: 0.5), Examples.measured()]
        for index in attempts.indices {
            (attempts[index].scope, attempts[index].attempt, attempts[index].callID) = (.attempt, 2 - index, 2)
        }
        let archive = HAR(attempts + [Examples.retried(), Examples.stored(at: 9)])
        #expect(archive.entries.map(\.request.url.last) == ["2", "2", "n"])
        #expect(
            archive.entries.map(\.startedAt) == [attempts[1], attempts[0], Examples.stored(at: 9)].map(\.startedAt))
    }

    @Test func `A redirected call has its last URL, and a report without an origin has no entry`() throws {
        var report = Examples.retried()
        report.redirections = [.init(303, .get, from: "https://a.example/items", to: "https://c.example/done")]
        #expect(try entry(report).request.url == "https://c.example/done")

        var relative = CallReport(method: .get, statusCode: 200)
        relative.url = "/feed"
        #expect(HAR([relative, CallReport()]).entries.isEmpty)
        relative.origin = try Origin("https://a.example")
        #expect(try entry(relative).request.url == "https://a.example/feed")
    }

    #if os(macOS) || os(Linux)
    private static let python = Task {
        await PythonLibraries.interpreter(
            with: "jsonschema==4.26.0", "rfc3986-validator==0.1.1", importing: "jsonschema, rfc3986_validator")
    }

    @Test(.enabled("libraries of PyPI cannot be installed on this machine") { await python.value != nil })
    func `The archive is valid by the schema of HAR 1.2`() async throws {
        let hostile = Examples.hostile.map(Examples.hostile)
        var extreme = Examples.retried()
        (extreme.duration, extreme.timeToHead) = (.seconds(Int64.max), .seconds(-1))
        (extreme.bytesReceived, extreme.codedLength, extreme.statusCode) = (-1, .max, -7)
        let archive = HAR(Examples.all + hostile + [extreme])
        #expect(archive.entries.count == 5 + hostile.count)

        let program = """
            import json, pathlib, sys
            from jsonschema import Draft6Validator, FormatChecker
            from referencing import Registry
            from referencing.jsonschema import DRAFT6
            schemas = [json.loads(file.read_text()) for file in pathlib.Path(sys.argv[1]).glob('*.json')]
            resources = [(schema['$id'].rstrip('#'), DRAFT6.create_resource(schema)) for schema in schemas]
            registry = Registry().with_resources(resources)
            validator = Draft6Validator({'$ref': 'har.json#'}, registry=registry, format_checker=FormatChecker())
            print([error.json_path + ': ' + error.message for error in validator.iter_errors(json.load(open('archive')))])
            damaged = json.load(open('archive'))
            damaged['log']['entries'][0]['request']['url'] = 'no url'
            del damaged['log']['entries'][0]['timings']['wait']
            print(len(list(validator.iter_errors(damaged))))
            """
        let command = [try #require(await Self.python.value), "program", Fixtures.url("telemetry/har-schema").path]
        let output = try await RunningScript.output(
            of: command.map(RunningScript.quoted).joined(separator: " "),
            files: ["program": Data(program.utf8), "archive": archive.document()])
        #expect(String(decoding: output, as: UTF8.self) == "[]\n2\n")
    }
    #endif
}
