extension Cassette {
    /// Tells the suite that the test has recorded, if it had no recordings in a file that the suite shares.
    func noteNewTest(_ recorded: [Interaction]) {
        guard let shared, let opening, !owners.hasOwn, rules.unused != .allow,
            let rule = rules.matching.first(where: { $0.subject == .url })
        else { return }
        let redactor = redactor
        let text: @Sendable (RecordedRequest) -> String = { request in
            let target = RecordedRequest(method: request.method, url: redactor.matchable(url: request.url))
            return "\(target.method) \(String(decoding: rule.key(target), as: UTF8.self))"
        }
        shared.add(
            NewTest(
                name: NewTest.test(of: opening.test), file: file,
                requests: recorded.map { RecordedRequest(method: $0.request.method, url: $0.request.url) }, text: text),
            to: file)
    }
}
