#if CommandLine
import Decorum
import DecorumTesting
import Foundation
import Testing

@testable import DecorumCommand

@Suite(.timeLimit(.minutes(10))) struct SignalTests {
    @Test(arguments: [SIGINT, SIGTERM])
    func `A first signal ends the transfer, and tells how far it came`(signal: Int32) async throws {
        let origin = try LoopbackOrigin()
        origin.enqueue(.script(.head(.ok, ["Content-Length": "10"]), .raw("abc"), .hang))
        let run = try await CommandRun(["-o", "film", origin.url]) { process in
            try await origin.waitForHeads(1)
            #expect(kill(try process(), signal) == 0)
        }
        #expect(run.status == 130)
        #expect(try !FileManager.default.contentsOfDirectory(atPath: run.folder.path).contains { $0.contains("film") })
        #expect(run.talk.hasPrefix("decorum: interrupted\nGET \(origin.url)/ was cancelled after"), "\(run.talk)")
    }

    @Test func `A second interrupt ends a command that the first one could not`() async throws {
        let origin = try LoopbackOrigin()
        origin.enqueue(.hanging)
        // The pipe with the list stays open, so that the command waits for its next line.
        let line = "mkfifo lines; exec 4<>lines; cat urls >&4; run <lines >data"
        let run = try await CommandRun(["--urls-from", "-"], files: ["urls": origin.url + "\n"], by: line) { process in
            try await origin.waitForHeads(1)
            #expect(kill(try process(), SIGINT) == 0)
            // It has cancelled the request.
            try await origin.waitForOpenConnections(0)
            #expect(kill(try process(), SIGINT) == 0)
        }
        #expect((run.status, run.talk) == (130, ""))
    }

    @Test func `Output that nobody takes is a failure`() async throws {
        let origin = try LoopbackOrigin()
        // More than a pipe holds.
        origin.enqueue(.generated(count: 1 << 20))
        let run = try await CommandRun([origin.url], by: "run <input | head -c 1 >data")
        #expect((run.status, run.talk) == (74, "decorum: The standard output takes no more data.\n"))
    }
}
#endif
