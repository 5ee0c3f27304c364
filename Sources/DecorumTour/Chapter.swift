/// Steps of the tour that belong together, and can be run alone.
struct Chapter: Sendable {
    /// The name by which it is asked for.
    let name: String
    let title: String
    let steps: [any Step]

    static let all = [
        Chapter(
            name: "requests", title: "Requests and answers",
            steps: [
                PlainAnswer(), Redirection(), Retry(), CompressedAnswer(), CancelledTransfer(), EndedTransfers(),
                LargeBody(),
                Analytics(),
            ]),
        Chapter(
            name: "caching", title: "Stored responses",
            steps: [Revalidation(), KeptResponses(), UnsafeRequest(), TwoUsers()]),
        Chapter(
            name: "credentials", title: "Credentials",
            steps: [SignedRequest(), ForeignRedirection(), SignedInUser()]),
        Chapter(name: "trouble", title: "Servers in trouble", steps: [Citizen(), SlowServer()]),
        Chapter(name: "stacks", title: "Stacks that are checked", steps: [WrongOrder(), WorstCase()]),
        Chapter(
            name: "calls", title: "Typed calls", steps: [TypedCall(), UploadedForm(), BrokenStream(), PagedList()]),
        Chapter(name: "recording", title: "Tests without a server", steps: [RecordedSession()]),
    ]
}
