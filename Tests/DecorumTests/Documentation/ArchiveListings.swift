import Decorum
import DecorumArchive
import Foundation

private enum ArchiveListings {
    func archives(file: URL) throws {
        let archive = try HAR(Data(contentsOf: file))
        for entry in archive.entries where entry.response.status >= 500 {
            print(entry.request.url, entry.time)
        }
    }

    func pseudonyms(request: Request) {
        let pseudonyms = Pseudonyms()
        let head = Redaction.standard.applied(to: request.head, naming: pseudonyms)
        print(head.headerFields[.authorization] ?? "")  // Bearer __authorization-1__
    }

    func searching(url: String) {
        var search = SecretSearch(Array(url.utf8), redaction: .standard)
        search.findInURL()
        let masked = search.replacing { _ in Array("***".utf8) }
        _ = masked
    }
}
