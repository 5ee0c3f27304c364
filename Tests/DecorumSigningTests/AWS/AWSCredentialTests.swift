#if Signing
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Synchronization
import Testing

@testable import DecorumSigning

@Suite(.timeLimit(.minutes(3))) struct AWSCredentialTests {
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_790_000_000))

    private func signer(_ source: some AWSCredentialSource) -> SigV4 {
        SigV4(service: "sqs", region: "us-east-1", credentials: source, clock: clock)
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

    /// A row has the seconds before an attempt, the number in the credentials that sign it, and that of all fetches after it;
    /// an answer has the seconds of its validity: nil for a failure, and infinity for a file that has no end.
    @Test(
        arguments: [
            // Others are fetched before the end, the old ones are used after a failure, and not after a machine has slept.
            (
                [3_600, nil, 3_600],
                [(0, 1, 1), (3_299, 1, 1), (2, 1, 2), (0, 1, 2), (2, 1, 3), (0, 3, 3), (100_000, 4, 4)]
            ),
            // All callers get the error of a failure until its pause is over.
            ([nil], [(0, nil, 1), (0, nil, 1), (1, nil, 2), (1, nil, 2), (1, nil, 3), (4, nil, 4)]),
            ([-100], [(0, 1, 1), (47, 1, 1), (14, 2, 2), (0, 2, 2)]),
            ([.infinity], [(0, 1, 1), (59, 1, 1), (2, 1, 2), (0, 2, 2)]),
        ] as [([Double?], [(Int, Int?, Int)])])
    func `Credentials are fetched anew in time, and held meanwhile`(
        answers: [Double?], rows: [(pause: Int, id: Int?, count: Int)]
    ) async throws {
        let source = CountedSource { [clock] number in
            guard let seconds = answers[min(number, answers.count) - 1] else {
                throw AWSCredentialError("down", mayPass: true)
            }
            let expiry = seconds.isFinite ? clock.date + seconds : nil
            var held = try AWSCredentials(accessKeyID: "ID\(number)", secretAccessKey: "s", expiry: expiry)
            held.isFromFile = seconds.isInfinite
            return held
        }
        let spawner = TrackingSpawner()
        let signer = signer(AWSCredentialChain([source], clock: clock, spawner: spawner))
        for (pause, id, count) in rows {
            clock.advance(by: .seconds(pause))
            let field = try? await signer.sign(.get("https://example.com/")).head.headerFields[.authorization]
            try await spawner.finished()
            #expect(field?.split(separator: "/").first == id.map { "AWS4-HMAC-SHA256 Credential=ID\($0)" })
            #expect(source.count == count)
        }
    }

    @Test func `The wait for credentials ends at a limit, at the deadline and when it is cancelled`() async throws {
        let source = CountedSource { [clock] _ in
            try await clock.sleep(until: clock.now + .seconds(1_000), tolerance: nil)
            return nil
        }
        func call(_ signer: SigV4) throws -> Task<Request, any Error> {
            var request = try Request.get("https://example.com/")
            request.options.deadline = clock.now + .seconds(100)
            return Task { [request] in try await signer.sign(request) }
        }
        for (seconds, signer) in [(90, signer(AWSCredentialChain([source], clock: clock))), (100, signer(source))] {
            let late = try call(signer)
            try await clock.waitForSleepers(2)
            clock.advance(by: .seconds(seconds))
            let error = await #expect(throws: CredentialSourceError.self) { try await late.value }
            #expect(error?.mayPass == true && (error?.underlying is AWSCredentialError) == (seconds == 90))
        }
        let cancelled = try call(signer(source))
        try await clock.waitForSleepers(1)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }

        let none = AWSCredentialChain([CountedSource { _ in nil }], clock: clock)
        let error = await #expect(throws: SigningError.self) { try await none.credentials() }
        #expect(error?.reason == .noCredentials && error?.description.contains("CountedSource") == true)
    }
}

/// A source that counts how often it is asked.
private final class CountedSource: AWSCredentialSource {
    private let number = Mutex(0)
    private let answer: @Sendable (Int) async throws -> AWSCredentials?

    init(_ answer: @escaping @Sendable (Int) async throws -> AWSCredentials?) { self.answer = answer }

    var count: Int { number.withLock { $0 } }

    func credentials() async throws -> AWSCredentials? {
        number.withLock { $0 += 1 }
        return try await answer(count)
    }
}

/// The rows of `Fixtures/signing/aws.json`, with what is expected of them.
struct AWSExamples: Decodable {
    /// A place with its variables, files and answers; and either the keys, or the kind and parts of the error.
    struct Place: Decodable {
        let note, place: String, profile, kind: String?
        let environment, files: [String: String]?
        /// Each answer has a status and content.
        let answers: [[String]]?
        let requests, keys, error: [String]?, expiry: Double?

        var source: MachineCredentials.Place {
            let places: [MachineCredentials.Place] = [.environment, .webIdentity, .container, .instance]
            return places.first { "\($0)" == place } ?? .profile(profile)
        }
    }

    struct SignedRequest: Decodable { let method, target, body, signature: String, fields: [String: String] }
    struct Chunks: Decodable { let checksum: String?, seed, trailer: String, signatures: [String] }

    let places: [Place], commands: [String: [String]?]
    let requests: [SignedRequest], presigned: String, chunks: [Chunks]

    init() throws { self = try JSONDecoder().decode(Self.self, from: Fixtures.data("signing/aws.json")) }
}

/// A folder with files and programs, which is removed at the end.
final class FileFolder: Sendable {
    private static let large = String(repeating: "#", count: 2 << 20)

    let url = FileManager.default.temporaryDirectory.appending(path: "aws-\(UInt64.random(in: 0 ... .max))")

    init(_ files: [String: String]) throws {
        try FileManager.default.createDirectory(at: url.appending(path: ".aws"), withIntermediateDirectories: true)
        for (name, text) in files {
            // A character that ASCII lacks becomes a byte that UTF-8 lacks.
            try filled(text).data(using: .isoLatin1)?.write(to: url.appending(path: name))
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o700], ofItemAtPath: url.appending(path: name).path)
        }
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// A text with the path of the folder, and with much content, in place of their marks.
    func filled(_ text: String) -> String {
        text.replacing("{folder}", with: url.path).replacing("{large}", with: Self.large)
    }
}

/// The text that `dump` writes of a value, with what it holds.
func dumped(_ value: Any) -> String {
    var text = ""
    dump(value, to: &text)
    return text
}
#endif
