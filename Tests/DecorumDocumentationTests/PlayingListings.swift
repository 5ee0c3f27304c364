import Decorum
import DecorumArchive
import DecorumTesting
import Foundation

private func serving(_ download: (String) async throws -> String) async throws -> String {
    let cassette = try Cassette(at: "Tests/Cassettes/feed.json", mode: .replay)
    let origin = try LoopbackOrigin(playing: cassette)
    let feed = try await download(origin.url + "/feed")
    origin.stop()
    try await cassette.finish()
    return feed
}

private func exporting(_ cassette: Cassette) throws {
    try cassette.archive().document().write(to: URL(filePath: "feed.har"))
}
