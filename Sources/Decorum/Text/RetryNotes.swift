/// The sentences about the retries of a request, for the description of its error.
struct RetryNotes {
    let sentences: [String]

    /// - Parameters:
    ///   - tries: How often the request was sent, without the hops of redirections.
    ///   - elapsed: The time of all of them; nil where it is not known.
    ///   - refusal: The reason why it was not sent again; nil where all retries were used, or nothing is to be said.
    init(tries: Int, _ elapsed: Duration?, _ refusal: String?) {
        let time = elapsed.map { " within \($0.shortText)" } ?? ""
        sentences = [
            tries > 1 ? "The request was tried \(tries) times\(time)." : nil,
            refusal.map { "There was no \(tries > 1 ? "further " : "")retry: \($0)." },
        ].compactMap { $0 }
    }
}
