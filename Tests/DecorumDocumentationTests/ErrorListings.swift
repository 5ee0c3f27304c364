import Decorum
import Foundation
import Testing

@Suite struct ErrorListings {
    struct Item: Decodable {}

    @Test func decoding() async throws {
        let response = Response(status: .ok, body: "[{}]")
        let items = try await response.decode([Item].self, upTo: 1 << 20)
        #expect(items.count == 1)
    }

    func pages(of connection: any Connection) async throws -> [Item] {
        var items: [Item] = []
        var next: Request? = try .get("items?per_page=100")
        while let request = next {
            let response = try await connection.send(request)
            items += try await response.decode([Item].self, upTo: 1 << 20)
            next = try response.link("next").map { try .get($0.absoluteString) }
        }
        return items
    }

    @Test func messages() throws {
        let response = Response(status: .notFound)
        #expect(message(for: StatusError(method: .get, origin: nil, response: response)) == "This page is gone.")
        #expect(message(for: TransportError(.hostNotFound, at: .connecting)) == "You seem to be offline.")
        let lost = TransportError(.connectionLost, at: .head)
        #expect(message(for: lost) == "The server does not answer as it should.")
        #expect(message(for: CancellationError()) == nil)
    }

    func message(for error: any Error) -> String? {
        switch error {
        case is CancellationError: nil
        case let error as TransportError where error.tlsProblem == .expired: "Is the date of this device right?"
        case let error as TransportError where error.code == .hostNotFound: "You seem to be offline."
        case is TransportError: "The server does not answer as it should."
        case let error as StatusError where error.status == .notFound: "This page is gone."
        case let error as StatusError: error.problem ?? "The server has a problem."
        default: "Something went wrong."
        }
    }
}
