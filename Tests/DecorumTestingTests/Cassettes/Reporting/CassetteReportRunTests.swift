import Foundation
import Testing

@testable import DecorumTesting

/// One report belongs to one run, also of several processes.
@Suite struct CassetteReportRunTests {
    @Test func `The next run begins a new report, and another process of the same run adds to it`() throws {
        let folder = try TemporaryFolder()
        func file(of run: String) -> CassetteReportFile {
            CassetteReportFile(at: folder.path("report"), isPartial: false, run: run)
        }
        file(of: "1").add(.init(file: "a.json", modes: [.replay], opened: 1))
        file(of: "1").add(.init(file: "b.json", modes: [.replay], opened: 1))
        #expect(try file(of: "1").report().cassettes.map(\.file) == ["a.json", "b.json"])
        file(of: "2").add(.init(file: "c.json", modes: [.append], opened: 1))
        #expect(try file(of: "2").report().cassettes.map(\.file) == ["c.json"])
    }

    @Test func `A run of many cassettes is reported completely`() throws {
        let folder = try TemporaryFolder()
        let file = CassetteReportFile(at: folder.path("report"), isPartial: false, run: "1")
        for number in 0..<60 {
            let path = "Tests/Cassettes/Feed/\(number).json"
            file.add(.init(file: path, modes: [.replay], opened: 1))
            file.add(.init(file: path, finished: 1, replayed: 3))
        }
        #expect(try file.report().counts.replayed == 180)
    }
}
