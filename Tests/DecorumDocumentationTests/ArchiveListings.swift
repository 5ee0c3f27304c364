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

    @Test func searching() {
        let url = "https://user:pw@example.com/?token=abc"

        var search = SecretSearch(Array(url.utf8), redaction: .standard)
        search.findInURL()
        let masked = search.replacing { _ in Array("***".utf8) }

        #expect(masked == Array("https://***@example.com/?token=***".utf8))
    }
}
