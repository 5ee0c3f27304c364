import Decorum
import DecorumTelemetry
import DecorumTesting
import Foundation

extension Step {
    static let story = Step(
        title: "A response tells its story: a redirection, a busy server, and where it came from",
        look: "The attempts with their reasons and waits, and the request as a command of curl.",
        code: "print(response.report.explain())"
    ) { stage in
        stage.origin.enqueue(
            .init(.found, fields: ["Location": "/new"]), .init(.serviceUnavailable, fields: ["Retry-After": "1"]),
            .init(fields: ["ETag": #""1""#], body: "News."))
        let report = try await stage.get("/old").response.report
        stage.terminal.text(lines: report.explain())
        let outcomes = report.attempts.compactMap(\.outcome)
        try stage.check(outcomes.count == 3 && outcomes[1].hasPrefix("503"), "each attempt has its outcome")
        var request = try Request.get(stage.origin.url + "/old")
        request.head.headerFields[.authorization] = "Bearer of the tour"
        let command = request.curlCommand()
        stage.terminal.text(lines: command)
        try stage.check(!command.contains("of the tour"), "a variable stands for the secret")
    }

    static let waterfall = Step(
        title: "A waterfall of the calls so far, in the terminal and as a page",
        look: "The waits before attempts, and the page with details and a filter.",
        code: "print(Waterfall(recent.reports)); Waterfall(recent.reports).page()"
    ) { stage in
        stage.origin.enqueue(.init(.notModified, fields: ["ETag": #""1""#]))
        _ = try await stage.get("/new")
        let reports = stage.recent.reports
        stage.terminal.text(lines: Waterfall(reports).text(width: 100))
        let name = "decorum-tour-\(ProcessInfo.processInfo.processIdentifier).html"
        let file = FileManager.default.temporaryDirectory.appending(path: name)
        try Data(Waterfall(reports).page(titled: "The tour").utf8).write(to: file)
        stage.terminal.text("The page: \(file.path)")
        try stage.check(reports.contains { $0.scope == .attempt }, "attempts are in it")
    }
}
