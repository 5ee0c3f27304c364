struct Analytics: Step {
    let title = "What the observers counted"

    func run(on stage: Stage) async throws {
        for (name, statistics) in [("calls", stage.calls), ("attempts", stage.attempts)] {
            stage.terminal.text("\(name):")
            for line in "\(statistics.snapshot())".split(separator: "\n") { stage.terminal.text("  \(line)") }
        }
        let calls = stage.calls.snapshot().total
        let attempts = stage.attempts.snapshot().total
        try stage.check(attempts > calls, "retries and redirections made attempts beyond the calls")
    }
}
