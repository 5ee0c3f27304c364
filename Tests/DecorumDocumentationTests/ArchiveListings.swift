import Decorum
import DecorumArchive
import Foundation
import Testing

@Suite struct ArchiveListings {
    func archives(file: URL) throws {
        let archive = try HAR(Data(contentsOf: file))
        for entry in archive.entries where entry.response.status >= 500 {
            print(entry.request.url, entry.time)
        }
    }
}
