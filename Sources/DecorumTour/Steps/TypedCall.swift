import DecorumDemo
import DecorumEndpoints
import DecorumTesting

struct TypedCall: Step {
    let title = "A typed call gives a value, or the API's own error, and overwrites no change of others"
    let pointer = "The error of the API as a value, and the 412 that protects the change of another client."
    let code = "try await api.value(of: .note(1))"

    func run(on stage: Stage) async throws {
        let api = stage.api
        let draft = DemoNote(title: "Monday")
        let added = try await api.value(of: .adding(draft))
        stage.terminal.app("added “\(added.title)” as note \(added.id)")
        try stage.check(added.id == 6, "the server has numbered the note")

        do {
            _ = try await api.value(of: .note(99))
            throw CheckFailure(description: "A note that is not there has a value.")
        } catch let error as RefusalError {
            let problem = error.problem(as: DemoProblem.self)
            stage.terminal.app("\(error.status.code), \(problem?.code ?? "?"): \(problem?.message ?? "?")")
            try stage.check(problem?.code == "not_found", "the error of the API is decoded")
        }

        var note = try await api.versioned(of: .note(added.id))
        stage.demo.changeNote(added.id, title: "Changed by another client")
        note.value.title = "Tuesday"
        do {
            _ = try await api.update(note, by: .saving(note.value))
            throw CheckFailure(description: "The change of another client was overwritten.")
        } catch let conflict as ConflictError<DemoNote> {
            stage.terminal.app("412: the note is now “\(conflict.current?.value.title ?? "?")”")
            try stage.check(conflict.current?.value.version == 1, "the conflict carries the current note")
        }
    }
}
