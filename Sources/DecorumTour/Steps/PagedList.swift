import DecorumDemo
import DecorumEndpoints
import DecorumTesting

struct PagedList: Step {
    let title = "The pages of a list are one sequence, which asks for no page that is not read"
    let pointer = "Each page is requested when it is read, and the last loop requests one."
    let code = "for try await page in api.pages(of: .notes) { … }"

    func run(on stage: Stage) async throws {
        let earlier = stage.demo.origin.requests.count
        var count = 0
        var sizes: [Int] = []
        for try await page in stage.api.pages(of: .notes) {
            stage.terminal.app("page \(sizes.count + 1): \(page.map(\.title))")
            sizes.append(page.count)
            count += page.count
        }
        try stage.check(sizes == [2, 2, 2] && count == 6, "three pages have the six notes")
        try stage.check(stage.demo.origin.requests.count - earlier == 3, "each page is requested once")

        for try await note in stage.api.elements(of: .notes) {
            if note.id == 1 { break }
        }
        try stage.check(stage.demo.origin.requests.count - earlier == 4, "a loop that ends requests no further page")
    }
}
