import Decorum
import Testing

@Suite struct ResponseMetadataTests {
    @Test func `Metadata starts at its defaults`() {
        let metadata = ResponseMetadata()
        #expect(metadata.source == nil)
        #expect(metadata.attempts == 1)
        #expect(metadata.informational.isEmpty)
        #expect(metadata.decodedContentCodings.isEmpty)
        #expect(metadata.url == nil)
        #expect(metadata.temperature == 0)
    }

    @Test func `Another module adds its own values`() {
        var response = Response(status: .ok)
        response.metadata.temperature = 21
        response.metadata.source = .init("thermometer")
        #expect(response.metadata.temperature == 21)
        #expect(response.metadata.source?.description == "thermometer")
    }
}

private enum TemperatureKey: ResponseMetadataKey {
    static let defaultValue = 0
}

extension ResponseMetadata {
    fileprivate var temperature: Int {
        get { self[TemperatureKey.self] }
        set { self[TemperatureKey.self] = newValue }
    }
}
