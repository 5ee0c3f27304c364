import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct ClientInformationTests {
    static let linux = "Linux 6.8.0"

    @Test func `A request names the program and the system that send it`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let client = try ClientInformation(name: "Reader", version: "2.1", system: Self.linux)
        let connection = stub.identifyingClient(as: client)

        _ = try await connection.send(.get("https://api.example.com/"))
        _ = try await connection.send(.get("https://api.example.com/", fields: [.userAgent: "own"]))

        let sent = stub.requests.map { $0.head.headerFields[values: .userAgent] }
        #expect(sent == [["Reader/2.1 (Linux 6.8.0)"], ["own"]])
        #expect(connection.layers[0].description == "identifyingClient(as: Reader/2.1 (Linux 6.8.0))")
        #expect(connection.layers[0].role == .preparation)
    }

    @Test(
        arguments: [
            ("Reader", "2.1", ["build 77"], "Reader/2.1 (Linux 6.8.0; build 77)"),
            ("Reader", nil, [], "Reader (Linux 6.8.0)"),
            ("my-app.x_y", "2.1+7", ["a", "b"], "my-app.x_y/2.1+7 (Linux 6.8.0; a; b)"),
            ("R", "1", ["", "kind (beta)", "a\\b"], #"R/1 (Linux 6.8.0; kind \(beta\); a\\b)"#),
            ("R", "1", [")"], #"R/1 (Linux 6.8.0; \))"#),
        ] as [(String, String?, [String], String)])
    func `The field consists of the parts`(name: String, version: String?, details: [String], field: String) throws {
        let client = try ClientInformation(name: name, version: version, system: Self.linux, details: details)
        #expect(client.userAgent == field)
        #expect(HTTPField.isValidValue(client.userAgent))
    }

    @Test(arguments: [
        ("", "1", ""), ("My App", "1", ""), ("R\u{E9}ader", "1", ""), ("a/b", "1", ""), ("R\r\nX", "1", ""),
        (":R", "1", ""), ("R", "", ""), ("R", "1 2", ""), ("R", "1\r\nX-Evil: 1", ""), ("R", "(1)", ""),
        ("R", "1", "a\r\nX-Evil: 1"), ("R", "1", "a\tb"), ("R", "1", "\u{E9}"), ("R", "1", "a\0"), ("R", "1", "\u{7F}"),
    ])
    func `Text that is invalid in the field is refused`(name: String, version: String, detail: String) throws {
        let error = try #require(throws: InvalidRequestError.self) {
            try ClientInformation(name: name, version: version, details: [detail])
        }
        #expect(error.reason == .invalidField)
        #expect(throws: InvalidRequestError.self) { try ClientInformation(name: "R", system: "Lin\nux 1") }
    }

    @Test func `The comment ends at its end, with any content`() throws {
        let generator = SeededGenerator(seed: 11)
        for _ in 0..<500 {
            let characters = (0..<generator.next() % 20).map { _ in UInt8(0x20 + generator.next() % 95) }
            let text = String(decoding: characters, as: UTF8.self)
            let client = try ClientInformation(name: "R", system: Self.linux, details: [text])

            var depth = 0
            var isQuoted = false
            var ends: [Int] = []
            for (offset, character) in client.userAgent.enumerated() {
                switch character {
                case _ where isQuoted: isQuoted = false
                case "\\": isQuoted = true
                case "(": depth += 1
                case ")":
                    depth -= 1
                    ends.append(offset)
                default: break
                }
            }
            #expect(depth == 0)
            #expect(ends == [client.userAgent.count - 1])
        }
    }

    @Test func `The system of this machine has a name and a version`() throws {
        let system = ClientInformation.currentSystem
        #expect(system.split(separator: " ").last?.split(separator: ".").count == 3)
        #expect(try ClientInformation(name: "R").userAgent == "R (\(system))")
        #expect(try ClientInformation(name: "R", version: "1", system: "").userAgent == "R/1")
    }
}

@Suite struct DeviceInformationTests {
    @Test func `A device has fields of its own, which the app may have set`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let device = DeviceInformation(system: "iOS", version: "18.2", type: "iPhone17,1", vendorIdentifier: "E621")
        let connection = stub.identifyingClient(as: try ClientInformation(name: "Reader", device: device))
        let type = try #require(HTTPField.Name("X-Client-Device-Type"))
        _ = try await connection.send(.get("https://api.example.com/", fields: [type: "own"]))
        let fields = try #require(stub.requests.last).head.headerFields.filter { $0.name.rawName.hasPrefix("X-") }
        #expect(
            fields.map(\.description) == [
                "X-Client-Device-Type: own", "X-Client-OS: iOS", "X-Client-OS-Version: 18.2",
                "X-Client-Device-VendorId: E621",
            ])
        #expect(stub.requests.last?.options.secretFields.map(\.rawName) == ["X-Client-Device-VendorId"])
        #expect(!DeviceInformation().type.isEmpty)
        #expect(throws: InvalidRequestError.self) {
            try ClientInformation(name: "Reader", device: DeviceInformation(type: "a\r\nX-Evil: 1"))
        }
    }
}
