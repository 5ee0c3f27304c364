#if CommandLine
import Decorum
import DecorumTesting
import Foundation
import Testing

@testable import DecorumCommand

@Suite(.timeLimit(.minutes(10))) struct OutputFileTests {
    private static let hasUnnamedFiles = FileManager.default.fileExists(atPath: "/proc/self/fd")

    @Test(arguments: [false, true])
    func `A file that exists stays unless it may be replaced, and nothing else is left`(isHidden: Bool) async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "a.txt").path
            // It belongs to somebody else, where the part needs no name.
            let others = isHidden || !Self.hasUnnamedFiles ? [] : [".a.txt.partial"]
            for name in others { try Data("mine".utf8).write(to: folder.appending(path: name)) }
            func expectFile(_ text: String) throws {
                #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == others + ["a.txt"])
            }
            func write(_ text: String, replacing: Bool) throws {
                let part = try OutputFile(path, replacing: replacing).begin(hidden: isHidden)
                defer { part.discard() }
                try part.append(Data(text.utf8))
                // It appears meanwhile.
                if text == "two" { try Data("one".utf8).write(to: URL(filePath: path)) }
                try part.finish()
            }
            for (text, isReplacing, result) in [
                ("zero", false, "zero"), ("no", false, "zero"), ("one", true, "one"), ("", true, ""),
            ] {
                #expect((try? write(text, replacing: isReplacing)) != nil || text == "no")
                try expectFile(result)
            }
            try FileManager.default.removeItem(atPath: path)
            let failure = #expect(throws: CommandFailure.self) { try write("two", replacing: false) }
            #expect(failure?.status == .cannotCreate)
            try expectFile("one")
        }
    }

    @Test func `A hidden part is taken over when the run that wrote it has ended, and not before`() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: ".a.txt.partial").path
            try Data("a long part".utf8).write(to: URL(filePath: path))
            let other = try #require(FileHandle(forReadingAtPath: path))
            #expect(flock(other.fileDescriptor, LOCK_EX) == 0)
            let file = OutputFile(folder.appending(path: "a.txt").path, replacing: false)
            let failure = #expect(throws: CommandFailure.self) { try file.begin(hidden: true) }
            #expect(failure?.status == .cannotCreate)

            #expect(flock(other.fileDescriptor, LOCK_UN) == 0)
            let part = try file.begin(hidden: true)
            try part.append(Data("short".utf8))
            try part.finish()
            part.discard()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.txt"])
            #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "short")
        }
    }

    @Test(arguments: [[], ["--force"]])
    func `A command that is killed during a transfer leaves nothing of its file`(options: [String]) async throws {
        let (origin, gate) = (try LoopbackOrigin(), Gate())
        // What has left the server by then has filled all buffers on the way to the file.
        origin.enqueue(.script(.head(.ok, ["Content-Length": "99999999"]), .generated(32 << 20), .wait(gate)))
        let old = options.isEmpty ? [:] : ["film": "old"]
        let words = options + ["-o", "film", "--bearer-env", "TOKEN", origin.url]
        let run = try await CommandRun(words, environment: ["TOKEN": "s3cret"], files: old) { process in
            try await gate.waitForArrivals(1)
            #expect(kill(try process(), SIGKILL) == 0)
        }
        #expect(run.status == 128 + 9)
        let names = try FileManager.default.contentsOfDirectory(atPath: run.folder.path)
        let part = Self.hasUnnamedFiles ? [] : [".film.partial"]
        #expect(Set(names.filter { $0.contains("film") }) == Set(part + old.keys))
        for name in names { #expect(try !run.file(name).contains("s3cret"), "\(name)") }
        if !old.isEmpty { #expect(try run.file("film") == "old") }
    }
}
#endif
