import DecorumEndpoints
import DecorumTesting
import Foundation
import HTTPTypes

/// The twelve tasks of the page “Comparing clients”; a test counts the lines between the marks.
struct ComparisonListings {
    struct Item: Codable, Hashable, Sendable {
        var id = 1
        var title = "one"
    }

    struct Failure: Decodable, Error {
        let message: String
    }

    let connection: any Connection

    func getting() async throws -> Item {
        // task: get JSON
        try await connection.value(of: .get("items/latest"))
        // end
    }

    func posting(_ item: Item) async throws -> Item {
        // task: post JSON
        try await connection.value(of: .post("items", content: .json(item)))
        // end
    }

    func searching(_ words: String) async throws -> [Item] {
        // task: query with special characters
        try await connection.value(of: .get("search", query: ["q": words, "page": 2]))
        // end
    }

    func named(_ name: String) async throws -> Item {
        // task: path parameter from a user
        try await connection.value(of: .get("names/{name}", ["name": name]))
        // end
    }

    func uploading(_ file: URL, report: @escaping @Sendable (Double) -> Void) async throws -> Item {
        // task: upload of a large file in a form, with progress
        var form: Multipart = ["title": "Summer"]
        try form.append("file", file: file)
        let upload = Endpoint<Item>.post("files", content: .multipart(form))
        return try await connection.value(of: upload.reportingUpload { report($0.fraction ?? 0) })
        // end
    }

    func downloading(to file: URL) async throws {
        // task: download to a file
        _ = try await connection.value(of: .get("report", as: .file(file, upTo: 1 << 30)))
        // end
    }

    func listing() async throws -> [Item] {
        var items: [Item] = []
        // task: pages by Link
        for try await item in connection.elements(of: Endpoint<[Item]>.get("items")) {
            items.append(item)
        }
        // end
        return items
    }

    func following(show: (String) -> Void) async throws {
        // task: server-sent events with reconnection
        for try await event in try connection.events(of: Endpoint<Void>.get("events")) {
            show(event.data)
        }
        // end
    }

    func updating(_ id: Int, title: String) async throws -> Item {
        // task: conditional update
        var item = try await connection.versioned(of: Endpoint<Item>.get("items/{id}", ["id": id]))
        item.value.title = title
        let saving = Endpoint<Item>.put("items/{id}", ["id": id], content: .json(item.value))
        return try await connection.update(item, by: saving).value
        // end
    }

    func failing() async throws -> Item {
        // task: the API's own error
        do {
            return try await connection.value(of: .get("items/latest"))
        } catch let error as RefusalError {
            throw error.problem(as: Failure.self) ?? error
        }
        // end
    }

    static func retrying() -> any Connection {
        // task: retries with Retry-After
        SystemConnection().retrying()
        // end
    }

    static func testing() async throws -> (Item, [Request]) {
        // task: test without network
        let stub = StubConnection(Response(status: .ok, body: #"{"id": 1, "title": "one"}"#))
        let item = try await ComparisonListings(connection: stub).getting()
        let requests = stub.requests
        // end
        return (item, requests)
    }
}
