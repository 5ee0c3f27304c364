import DecorumDemo
import DecorumEndpoints
import DecorumTesting

struct BrokenStream: Step {
    let title = "An event stream breaks after every third event, and goes on where it was"
    let pointer = "The field Last-Event-ID of each new connection: no event arrives twice, and none is lost."
    let code = "for try await event in try api.events(of: .changes) { … }"

    func run(on stage: Stage) async throws {
        let earlier = stage.demo.origin.requests.count
        var numbers: [String] = []
        for try await event in try stage.api.events(of: .changes) {
            stage.terminal.app("event \(event.id), \(event.type): \(event.data.split(separator: "\n").joined())")
            numbers.append(event.id)
        }

        let requests = stage.demo.origin.requests.dropFirst(earlier)
        let lasts = requests.map { $0.fields["Last-Event-ID"] ?? "none" }
        stage.terminal.app("Last-Event-ID of the \(requests.count) requests: \(lasts.joined(separator: ", "))")
        try stage.check(numbers == ["1", "2", "3", "4", "5", "6", "7"], "each event arrives once, in order")
        try stage.check(lasts == ["none", "3", "6", "7"], "each connection continues the last one")
    }
}
