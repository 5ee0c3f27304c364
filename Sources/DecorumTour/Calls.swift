import DecorumDemo
import DecorumEndpoints
import DecorumTesting
import Foundation
import Synchronization

extension Step {
    static let typedCall = Step(
        title: "A typed call gives a value, or the API's own error, and overwrites no change of others",
        look: "The error of the API as a value, and the 412 that protects the change of another client.",
        code: "try await api.value(of: .note(1))"
    ) { stage in
        let api = stage.api
        let added = try await api.value(of: .adding(DemoNote(title: "Monday")))
        stage.terminal.app("added “\(added.title)” as note \(added.id)")
        try stage.check(added.id == 6, "the server has numbered the note")
        let refusal = await stage.error { _ = try await api.value(of: .note(99)) } as? RefusalError
        let problem = refusal?.problem(as: [String: String].self) ?? [:]
        stage.terminal.app("its code is \(problem["code"] ?? "?"): \(problem["message"] ?? "?")")
        try stage.check(problem["code"] == "not_found", "the error of the API is decoded")
        let note = try await api.versioned(of: .note(added.id))
        stage.demo.changeNote(added.id, title: "Changed by another client")
        var change = note.value
        change.title = "Tuesday"
        let conflict = await stage.error { [change] in _ = try await api.update(note, by: .saving(change)) }
        let current = (conflict as? ConflictError<DemoNote>)?.current?.value
        stage.terminal.app("the note is now “\(current?.title ?? "?")”")
        try stage.check(current?.version == 1, "the conflict carries the current note")
    }

    static let uploadedForm = Step(
        title: "A form with a file of 32 MiB is sent with a progress bar, and is never in memory as a whole",
        look: "The bar; the file is made while it is sent.",
        code: "api.value(of: .uploading(form).reportingUpload { progress in … })"
    ) { stage in
        let size: Int64 = 32 << 20
        let chunks = (0..<512).lazy.map { BytePattern.bytes(64 << 10, at: Int64($0) << 16) }
        let next = Mutex(chunks.makeIterator())
        let film = Body(chunks: AsyncStream { next.withLock { $0.next() } }, length: size)
        var form: Multipart = ["title": "Summer", "public": true]
        form.append("film", film, named: "summer.mov", as: "video/quicktime")
        let fractions = Mutex<[Double]>([])
        let terminal = stage.terminal
        let upload = try await stage.api.value(
            of: .uploading(form).reportingUpload(every: .milliseconds(20)) { progress in
                let fraction = progress.fraction ?? 0
                fractions.withLock { $0.append(fraction) }
                let bar = String(repeating: "█", count: Int(fraction * 32))
                let rate = progress.rate.map { ", \(Int($0) >> 20) MiB/s" } ?? ""
                terminal.app(
                    bar.padding(toLength: 32, withPad: "·", startingAt: 0) + " \(progress.bytes >> 20) MiB\(rate)")
            })
        terminal.app("the server got \(upload.length) bytes")
        let shown = fractions.withLock { $0 }
        try stage.check(upload.length > size, "the server got the whole form")
        try stage.check(shown == shown.sorted() && shown.last == 1, "the bar grows to its end")
    }

    static let brokenStream = Step(
        title: "An event stream breaks after every third event, and goes on where it was",
        look: "The field Last-Event-ID of each new connection: no event arrives twice, and none is lost.",
        code: "for try await event in try api.events(of: .changes) { … }"
    ) { stage in
        let earlier = stage.demo.origin.requests.count
        var numbers: [String] = []
        for try await event in try stage.api.events(of: .changes) {
            stage.terminal.app("event \(event.id), \(event.type): \(event.data.split(separator: "\n").joined())")
            numbers.append(event.id)
        }
        let lasts = stage.demo.origin.requests.dropFirst(earlier).map { $0.fields["Last-Event-ID"] ?? "none" }
        stage.terminal.app("Last-Event-ID of the \(lasts.count) requests: \(lasts.joined(separator: ", "))")
        try stage.check(numbers == ["1", "2", "3", "4", "5", "6", "7"], "each event arrives once, in order")
        try stage.check(lasts == ["none", "3", "6", "7"], "each connection continues the last one")
    }

    static let pagedList = Step(
        title: "The pages of a list are one sequence, which asks for no page that is not read",
        look: "Each page is requested when it is read, and the last loop requests one.",
        code: "for try await page in api.pages(of: .notes) { … }"
    ) { stage in
        let earlier = stage.demo.origin.requests.count
        var sizes: [Int] = []
        for try await page in stage.api.pages(of: .notes) {
            stage.terminal.app("page \(sizes.count + 1): \(page.map(\.title))")
            sizes.append(page.count)
        }
        try stage.check(sizes == [2, 2, 2], "three pages have the six notes")
        try stage.check(stage.demo.origin.requests.count - earlier == 3, "each page is requested once")
        for try await note in stage.api.elements(of: .notes) where note.id == 1 { break }
        try stage.check(stage.demo.origin.requests.count - earlier == 4, "a loop that ends requests no further page")
    }
}

extension Endpoint where Value == DemoNote {
    static func note(_ id: Int) -> Self { .get("notes/{id}", ["id": id]) }
    static func adding(_ note: DemoNote) -> Self { .post("notes", content: .json(note)) }
    static func saving(_ note: DemoNote) -> Self { .put("notes/{id}", ["id": note.id], content: .json(note)) }
}

extension Endpoint where Value == [DemoNote] {
    static var notes: Self { .get("notes", query: ["per_page": 2]) }
}

extension Endpoint where Value == DemoUpload {
    static func uploading(_ form: Multipart) -> Self { .post("files", content: .multipart(form)) }
}

extension Endpoint where Value == Void {
    static var changes: Self { .get("events") }
}
