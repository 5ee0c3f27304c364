import DecorumDemo
import DecorumEndpoints
import DecorumTesting

/// The errors of the demo API.
struct DemoProblem: Decodable, Sendable {
    let code: String
    let message: String
}

/// The answer of the demo API to an upload.
struct DemoUpload: Decodable, Sendable {
    let length: Int64
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
