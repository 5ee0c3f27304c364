public import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
public import Testing

/// Checks of the resources that a transport takes, each for a process of its own.
///
/// With `DECORUM_SOAK=1` in the environment, the numbers are larger.
public struct EnduranceChecks: Sendable {
    /// A check, and what it demands.
    public enum Check: String, CaseIterable, Codable, Sendable {
        case manyRequestsLeaveNothingBehind, manyTransportsLeaveNothingBehind, largeBodiesTakeLittleMemory
        #if os(Linux)
        case withoutDescriptorsRequestsFail
        #endif
    }

    private let make: @Sendable () throws -> any Connection

    /// Begins the process of a test, and runs a check in it, with a response that is not read beside large bodies or without.
    public static func run(
        _ check: Check, besideUnread: Bool = true, over make: @escaping @Sendable () throws -> any Connection
    ) async throws {
        ProcessTests.begin()
        let checks = EnduranceChecks(make: make)
        switch check {
        case .manyRequestsLeaveNothingBehind: try await checks.checkManyRequests()
        case .manyTransportsLeaveNothingBehind: try await checks.checkManyTransports()
        case .largeBodiesTakeLittleMemory: try await checks.checkLargeBodies(besideUnread: besideUnread)
        #if os(Linux)
        case .withoutDescriptorsRequestsFail: try await checks.checkDescriptorLimit()
        #endif
        }
    }

    /// Many requests over one connection leave no descriptor and no memory behind.
    private func checkManyRequests() async throws {
        let origin = try LoopbackOrigin()
        origin.route(nil, "*", "ok")
        let body = BytePattern.bytes(10)
        var connection: (any Connection)? = try make()
        for _ in 0..<500 { try await connection?.send(.get(origin.url + "/")).body.drain(upTo: 10) }
        let before = (Footprint.descriptors, ProcessMemory.peak)

        for number in 0..<(Footprint.isSoak ? 10_000 : 1500) {
            let request = try Request.put(origin.url + "/", body: number % 4 == 0 ? Body(body) : .empty)
            try await connection?.send(request).body.drain(upTo: 10)
            if number % 100 == 0 { origin.forgetRequests() }
        }

        #expect(origin.connectionCount == 1)
        try await yield { Footprint.descriptors <= before.0 }
        #expect(ProcessMemory.peak - before.1 < (Footprint.isSoak ? 16 : 8) << 20)
        connection = nil
        try await origin.waitForOpenConnections(0)
    }

    /// Transports that are dropped, with a response or without one, end their sessions and threads.
    private func checkManyTransports() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/", "ok")
        origin.route(.get, "/hang", .script(.head(.ok, ["Content-Length": "9"]), .hang))
        try await make().send(.get(origin.url + "/")).body.drain(upTo: 10)
        _ = try make()
        try await origin.waitForOpenConnections(0)
        let before = Footprint.descriptors

        for number in 0..<300 {
            let connection = try make()
            try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10)
            if number % 3 == 0 { _ = try await connection.send(.get(origin.url + "/hang")).status }
        }

        try await origin.waitForOpenConnections(0)
        // A thread ends shortly after its connections have closed.
        #expect(await soon { Footprint.descriptors <= before + 4 && Footprint.threads < 50 })
    }

    /// Large bodies take little memory in both directions, also beside a response that is not read.
    private func checkLargeBodies(besideUnread hasUnread: Bool) async throws {
        let count: Int64 = Footprint.isSoak ? 1 << 30 : 96 << 20
        let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
        origin.route(.get, "/", .generated(count: count))
        origin.route(.get, "/endless", .generated(count: 1 << 40))
        origin.route(.put, "/", "ok")
        let connection = try make()
        // The program itself takes more with each module that is tested.
        let before = ProcessMemory.peak
        let unread = hasUnread ? try await connection.send(.get(origin.url + "/endless")) : nil

        var offset: Int64 = 0
        var isWhole = true
        for try await chunk in try await connection.send(.get(origin.url + "/")).body {
            isWhole = isWhole && BytePattern.matches(chunk, at: offset)
            offset += Int64(chunk.count)
        }
        #expect(isWhole && offset == count)
        let body = Body(length: count, replay: .fromStart) { _ in PatternReader(count: count) }
        try await connection.send(.put(origin.url + "/", body: body)).body.drain(upTo: 10)
        let received = origin.requests.last
        #expect(received?.bodyLength == count && received?.isBodyPattern == true)
        #expect(ProcessMemory.peak - before < 32 << 20)
        withExtendedLifetime(unread) {}
    }

    /// Without a free descriptor a request fails at the stage of connecting, and succeeds again with one.
    private func checkDescriptorLimit() async throws {
        let (origin, other) = (try LoopbackOrigin(), try LoopbackOrigin())
        for origin in [origin, other] { origin.route(nil, "*", "ok") }
        let connection = try make()
        // A transport may start its threads with the first requests, and end the process if it cannot.
        for _ in 0..<100 { try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10) }
        var held: [Int32] = []
        while let descriptor = Optional(dup(0)), descriptor >= 0 { held.append(descriptor) }

        let error = await #expect(throws: TransportError.self) {
            try await connection.send(.post(other.url + "/", body: "hello"))
        }
        for descriptor in held { close(descriptor) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.stage == .connecting)
        #expect(try await connection.send(.get(other.url + "/")).body.text(upTo: 10) == "ok")
    }
}

/// Gives the bytes of ``BytePattern``, made as they are read.
private struct PatternReader: BodyReader {
    let count: Int64
    let trailers: HTTPFields? = nil
    private var offset: Int64 = 0

    init(count: Int64) {
        self.count = count
    }

    mutating func next() async throws -> Data? {
        guard offset < count else { return nil }
        let chunk = BytePattern.bytes(Int(min(count - offset, 256 << 10)), at: offset)
        offset += Int64(chunk.count)
        return chunk
    }
}

/// Tests that put a load on sockets and would delay each other, so that they run one after the other in all test targets.
@Suite(.serialized) public enum IsolatedTests: Sendable {}

/// Tests in separate processes, which run one after the other, beside the tests of this process.
///
/// They count the resources of a process, or end it, which other processes do not disturb.
@Suite(.serialized) public enum ProcessTests: Sendable {}

extension ProcessTests {
    /// Begins the process of a test.
    ///
    /// The process fails if it still runs after its limit. A test cannot end the process that it waits for, so a process
    /// that hangs would otherwise never be reported.
    ///
    /// - Parameter minutes: The limit, which is ten times as long in the long form of the tests.
    public static func begin(limit minutes: UInt32 = 1) {
        closeInheritedSockets()
        alarm(60 * minutes * (Footprint.isSoak ? 10 : 1))
    }

    /// Begins the process of a test that is about a failure: it succeeds if it still runs after a minute.
    public static func beginFailure() {
        closeInheritedSockets()
        signal(SIGALRM) { _ in _exit(EXIT_SUCCESS) }
        alarm(60)
    }

    /// Closes the sockets of the process that has started this one.
    ///
    /// A connection stays open as long as any process has its socket, so a test there that waits for the end of a
    /// connection would wait for this process. It still waits for this call, which comes first in the process.
    public static func closeInheritedSockets() {
        for socket in sockets { close(socket) }
    }

    /// The open sockets of the current process; none where the system has no `/proc`.
    private static var sockets: [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap(Int32.init).filter { descriptor in
            var status = stat()
            // The system writes no more than the structure.
            let isOpen = unsafe fstat(descriptor, &status) == 0
            return isOpen && descriptor > STDERR_FILENO && status.st_mode & S_IFMT == S_IFSOCK
        }
    }
}

/// The number of descriptors and threads that the process has; zeros where the system has no `/proc`.
public enum Footprint: Sendable {
    /// Whether `DECORUM_SOAK=1` in the environment asks for the long form of the tests.
    public static var isSoak: Bool { ProcessInfo.processInfo.environment["DECORUM_SOAK"] == "1" }

    /// The number of open descriptors.
    public static var descriptors: Int { entries(of: "/proc/self/fd") }

    /// The number of threads.
    public static var threads: Int { entries(of: "/proc/self/task") }

    private static func entries(of folder: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
    }
}
