import Decorum

struct Analytics: Step {
    let title = "Observers count calls and attempts"
    let pointer = "Calls and attempts are counted apart; compare the columns of retries and hits."
    let code = ".observing(statistics, as: .attempt) … .observing(statistics)"

    func run(on stage: Stage) async throws {
        let statistics = stage.statistics.snapshot()
        stage.terminal.text("A call is a request of the app, an attempt a request that was sent.")
        for line in "\(statistics)".split(separator: "\n") { stage.terminal.text(String(line)) }

        let calls = statistics.rows.filter { $0.scope == .call }
        let attempts = statistics.rows.filter { $0.scope == .attempt }
        try stage.check(calls.map(\.count).reduce(0, +) == 6, "every call was counted")
        try stage.check(
            calls.map(\.attempts).reduce(0, +) == 8, "a retry and a redirection took additional attempts")
        try stage.check(attempts.map(\.count).reduce(0, +) == 8, "every attempt was counted")
        try stage.check(calls.map(\.errors).reduce(0, +) == 0, "no call has failed")
        try stage.check(calls.map(\.cancelled).reduce(0, +) == 1, "the cancelled request is not an error")
    }
}
