#if os(macOS) || os(Linux)
import DecorumTestSupport
import DecorumTesting
import Foundation
import Synchronization
import Testing

@testable import Decorum

@Suite(.timeLimit(.minutes(3))) struct LogSinkTests {
    /// A pipe whose ends are each closed at most once.
    struct Pipe {
        let readEnd: Int32
        let writeEnd: Int32

        init() throws {
            var ends: [Int32] = [0, 0]
            // Safe: the system writes both numbers within the call.
            let outcome = unsafe ends.withUnsafeMutableBufferPointer { unsafe pipe($0.baseAddress) }
            try #require(outcome == 0)
            (readEnd, writeEnd) = (ends[0], ends[1])
        }
    }

    @Test func `An entry is written with a line end`() throws {
        let pipe = try Pipe()
        let sink = LogSink(descriptor: pipe.writeEnd)
        sink.write("one")
        sink.write("two")
        close(pipe.writeEnd)
        let text = try FileHandle(fileDescriptor: pipe.readEnd, closeOnDealloc: true).readToEnd()
        #expect(text == Data("one\ntwo\n".utf8))
    }

    @Test func `A sink is asked before a request is sent, and before the text of an entry is made`() async throws {
        let seen = Mutex<[String]>([])
        func sink(isEnabled: Bool = true, wants: Bool = true) -> LogSink {
            .structured(
                isEnabled: { isEnabled },
                wants: { report in
                    seen.withLock { $0.append("asked for \(report.statusCode ?? 0)") }
                    return wants
                },
                { entry in seen.withLock { $0.append(entry.text) } })
        }
        func send(to sink: LogSink) async throws -> [String] {
            _ = try await StubConnection(Response(status: .ok)).logging(to: sink, clock: VirtualClock())
                .send(.get("https://a.example/"))
            return seen.withLock { $0 }
        }

        #expect(try await send(to: sink(isEnabled: false)) == [])
        #expect(try await send(to: sink(wants: false)) == ["asked for 200"])
        let entries = try await send(to: sink())
        #expect(entries.count == 3 && entries[1] == "asked for 200")
        #expect(entries[2].hasPrefix("GET https://a.example/ 200 in "))
    }

    @Test func `A sink whose pipe was closed loses its entry and does not end the process`() async {
        await #expect(processExitsWith: .success) {
            ProcessTests.begin()
            // As in a program that does not handle broken pipes.
            signal(SIGPIPE, SIG_DFL)
            let pipe = try Pipe()
            close(pipe.readEnd)
            let sink = LogSink(descriptor: pipe.writeEnd)
            for _ in 0..<3 { sink.write(String(repeating: "x", count: 100_000)) }
        }
    }

    @Test func `Another write still ends the process by the signal`() async {
        await #expect(processExitsWith: .signal(SIGPIPE)) {
            ProcessTests.begin()
            signal(SIGPIPE, SIG_DFL)
            let pipe = try Pipe()
            close(pipe.readEnd)
            LogSink(descriptor: pipe.writeEnd).write("lost")
            var byte: UInt8 = 1
            _ = unsafe write(pipe.writeEnd, &byte, 1)
        }
    }

    @Test func `A signal that other code has blocked and waits for stays pending`() async {
        await #expect(processExitsWith: .success) {
            ProcessTests.begin()
            let pipe = try Pipe()
            close(pipe.readEnd)
            var signals = sigset_t()
            var pending = sigset_t()
            unsafe sigemptyset(&signals)
            unsafe sigaddset(&signals, SIGPIPE)
            unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
            raise(SIGPIPE)
            LogSink(descriptor: pipe.writeEnd).write("lost")
            unsafe sigpending(&pending)
            let isPending = unsafe sigismember(&pending, SIGPIPE)
            #expect(isPending == 1)
        }
    }
}
#endif
