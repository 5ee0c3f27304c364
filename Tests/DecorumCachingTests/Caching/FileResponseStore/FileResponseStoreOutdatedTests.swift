import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Responses that a later response has shown to be outdated.
@Suite(.timeLimit(.minutes(5))) struct FileResponseStoreOutdatedTests {
    let folder = StoreFolder()

    private func accepted(_ store: FileResponseStore, _ key: ResponseKey) async -> Set<String> {
        Set(await store.responses(for: key).compactMap { $0.selectingFields[.accept] })
    }

    @Test(arguments: [["a", "b"], ["b", "a"], ["a", "b", "c", "a2"], ["b", "c", "a", "a2"]])
    func `Responses to earlier requests are removed, also in another store, and later ones stay`(
        accepted: [String]
    ) async throws {
        let (first, second) = (folder.store(), folder.store())
        let (key, other) = (try SampleResponse.key(1), try SampleResponse.key(2))
        await second.store(SampleResponse.response(2), for: other)
        var early: [String: StoreTicket] = [:]
        for accept in accepted where !accept.hasPrefix("a") { early[accept] = second.ticket(for: key) }
        let ticket = first.ticket(for: key)
        for accept in accepted {
            await second.store(
                SampleResponse.response(1, vary: accept), for: key, with: early[accept] ?? second.ticket(for: key))
        }
        #expect(await self.accepted(first, key) == Set(accepted))

        await first.removeResponses(for: key, before: ticket)

        for store in [first, second] {
            #expect(await self.accepted(store, key) == Set(accepted.filter { $0.hasPrefix("a") }))
        }
        #expect(await first.responses(for: other).count == 1)
        // No ticket is withdrawn.
        await first.store(SampleResponse.response(1, vary: "d"), for: key, with: ticket)
        #expect(await self.accepted(second, key).contains("d"))
    }

    @Test func `A ticket that was withdrawn removes nothing`() async throws {
        let (first, second) = (folder.store(), folder.store())
        let key = try SampleResponse.key(1)
        let (early, ticket) = (second.ticket(for: key), first.ticket(for: key))
        await second.removeResponses(for: key)
        let late = second.ticket(for: key)
        await second.store(SampleResponse.response(1), for: key, with: late)
        await first.removeResponses(for: key, before: ticket)
        await second.removeResponses(for: key, before: early)
        #expect(await first.responses(for: key).count == 1)
        await first.removeResponses(for: key, before: first.ticket(for: key))
        #expect(await second.responses(for: key).isEmpty)
    }

    @Test func `Responses to earlier requests are removed from memory, and later ones stay`() async throws {
        let store = folder.store()
        let key = try SampleResponse.key(1)
        func secret(_ accept: String) -> StoredResponse {
            SampleResponse.response(1, fields: [.setCookie: "a=b"], vary: accept)
        }
        await store.store(secret("a"), for: key)
        let ticket = store.ticket(for: key)
        await store.store(secret("b"), for: key)
        await store.removeResponses(for: key, before: ticket)
        #expect(await accepted(store, key) == ["b"])
    }

    @Test(arguments: [false, true], [false, true])
    func `Neither a file nor a response in memory replaces the response to a later request`(
        isSecretLate: Bool, isWritten: Bool
    ) async throws {
        let store = folder.store()
        let key = try SampleResponse.key(1)
        let (early, late) = (store.ticket(for: key), store.ticket(for: key))
        let plain = SampleResponse.response(1, version: 1)
        // Its later date would put it first.
        let secret = SampleResponse.response(1, version: 2, fields: [.setCookie: "a=b"])
        #expect(await store.store(isSecretLate ? secret : plain, for: key, with: late))
        let isKept = try await keep(isSecretLate ? plain : secret, key, early, isWritten, store)
        #expect(!isKept)
        let found = await store.responses(for: key).map { $0.head.headerFields[.setCookie] }
        #expect(found == [isSecretLate ? "a=b" : nil])
        #expect(folder.files.isEmpty == isSecretLate)
    }

    private func keep(
        _ response: StoredResponse, _ key: ResponseKey, _ ticket: StoreTicket, _ isWritten: Bool,
        _ store: FileResponseStore
    ) async throws -> Bool {
        guard isWritten else { return await store.store(response, for: key, with: ticket) }
        var head = response
        head.body = .empty
        let writer = try #require(await store.writer(for: head, key: key, with: ticket))
        #expect(await writer.write(Data("x".utf8)))
        return await writer.finish()
    }
}
