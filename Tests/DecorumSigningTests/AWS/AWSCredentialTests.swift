#if Signing
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumSigning

@Suite(.timeLimit(.minutes(3)))
struct AWSCredentialTests {
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_790_000_000))

    private func credentials(_ number: Int, expiresIn seconds: Double) throws -> AWSCredentials {
        try AWSCredentials(
            accessKeyID: "ID\(number)", secretAccessKey: "secret", expiry: clock.date.addingTimeInterval(seconds))
    }

    @Test func `A thousand callers cause one fetch, and a caller who is cancelled does not end it`() async throws {
        let gate = Gate()
        let source = CountedSource { number in
            try await gate.wait()
            return try AWSCredentials(accessKeyID: "ID\(number)", secretAccessKey: "secret")
        }
        let chain = AWSCredentialChain([source], clock: clock)
        let first = Task { try await chain.credentials() }
        #expect(await soon { source.count == 1 })
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }

        let ids = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<1_000 { group.addTask { try await chain.credentials()?.accessKeyID } }
            gate.open()
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(ids == ["ID1"] && source.count == 1)
    }

    @Test
    func `A signer has new credentials before the old ones expire, and the old ones to their end after a failure`()
        async throws
    {
        let spawner = TrackingSpawner()
        let source = CountedSource { [self] number in
            if number == 2 { throw AWSCredentialError("down", mayPass: true) }
            return try credentials(number, expiresIn: 3_600)
        }
        let chain = AWSCredentialChain([source], clock: clock, spawner: spawner)
        let signer = SigV4(service: "sqs", region: "us-east-1", credentials: chain, clock: clock)
        // The last pause is that of a machine that slept.
        for (pause, id, count) in [
            (0, 1, 1), (3_299, 1, 1), (2, 1, 2), (0, 1, 2), (2, 1, 3), (0, 3, 3), (100_000, 4, 4),
        ] {
            clock.advance(by: .seconds(pause))
            let signed = try await signer.sign(.get("https://example.com/"))
            try await spawner.finished()
            #expect(signed.head.headerFields[.authorization]?.hasPrefix("AWS4-HMAC-SHA256 Credential=ID\(id)/") == true)
            #expect(source.count == count)
        }
    }

    @Test func `After a failure, callers get its error until the pause is over`() async throws {
        let source = CountedSource { number in
            guard number > 3 else { throw AWSCredentialError("down", mayPass: true) }
            return nil
        }
        let chain = AWSCredentialChain([source], clock: clock)
        for (pause, count) in [(0, 1), (0, 1), (1, 2), (1, 2), (1, 3)] {
            clock.advance(by: .seconds(pause))
            await #expect(throws: AWSCredentialError.self) { try await chain.credentials() }
            #expect(source.count == count)
        }
        clock.advance(by: .seconds(4))
        let error = await #expect(throws: SigningError.self) { try await chain.credentials() }
        #expect(error?.reason == .noCredentials && error?.description.contains("CountedSource") == true)
    }

    @Test(arguments: [true, false])
    func
        `Credentials that have expired on arrival are used for a minute, and the ones of a file are read again after it`(
            isFromFile: Bool
        ) async throws
    {
        let source = CountedSource { [self] number in
            guard isFromFile else { return try credentials(number, expiresIn: -100) }
            var held = try AWSCredentials(accessKeyID: "ID\(number)", secretAccessKey: "secret")
            held.isFromFile = true
            return held
        }
        let spawner = TrackingSpawner()
        let chain = AWSCredentialChain([source], clock: clock, spawner: spawner)
        for (pause, id) in [(0, 1), (47, 1), (14, isFromFile ? 1 : 2), (0, 2)] {
            clock.advance(by: .seconds(pause))
            #expect(try await chain.credentials()?.accessKeyID == "ID\(id)")
            if isFromFile { try await spawner.finished() }
        }
    }

    @Test func `A source that hangs ends with the time limit, and a signer's error says that it may pass`() async throws
    {
        let source = CountedSource { [clock] _ in
            try await clock.sleep(until: clock.now + .seconds(1_000_000), tolerance: nil)
            return nil
        }
        let chain = AWSCredentialChain([source], clock: clock)
        let signer = SigV4(service: "s3", region: "us-east-1", credentials: chain, clock: clock)
        let call = Task { try await signer.sign(.get("https://example.com/")) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(90))
        let error = await #expect(throws: CredentialSourceError.self) { try await call.value }
        #expect(error?.mayPass == true && error?.underlying is AWSCredentialError)
    }

    @Test func `The wait for credentials ends at the deadline and when the caller is cancelled`() async throws {
        let source = CountedSource { [clock] _ in
            try await clock.sleep(until: clock.now + .seconds(1_000), tolerance: nil)
            return nil
        }
        let signer = SigV4(service: "s3", region: "us-east-1", credentials: source, clock: clock)
        var request = try Request.get("https://example.com/")
        request.options.deadline = clock.now + .seconds(5)
        let late = Task { [request] in try await signer.sign(request) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: CredentialSourceError.self) { try await late.value }
        #expect(error?.mayPass == true)

        let cancelled = Task { try await signer.sign(.get("https://example.com/")) }
        try await clock.waitForSleepers(1)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }
}

/// A source that counts how often it is asked.
private final class CountedSource: AWSCredentialSource {
    private let number = Mutex(0)
    private let answer: @Sendable (Int) async throws -> AWSCredentials?

    init(_ answer: @escaping @Sendable (Int) async throws -> AWSCredentials?) { self.answer = answer }

    var count: Int { number.withLock { $0 } }

    func credentials() async throws -> AWSCredentials? {
        try await answer(
            number.withLock { number in
                number += 1
                return number
            })
    }
}
#endif
