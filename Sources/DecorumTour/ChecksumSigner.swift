import Decorum
import DecorumTesting

/// Signs with a keyed checksum (FNV-1a): it shows where a signature is added, and protects nothing.
struct ChecksumSigner: RequestSigner {
    let key: UInt64
    let secretFields: Set<HTTPField.Name> = [.authorization]

    func sign(_ request: Request) -> Request {
        var request = request
        let line = "\(request.head.method) \(request.head.path ?? "/")"
        request.head.headerFields[.authorization] = "Checksum \(checksum(of: line))"
        return request
    }

    func verifies(_ request: ReceivedRequest) -> Bool {
        request.fields["Authorization"] == "Checksum \(checksum(of: "\(request.method) \(request.target)"))"
    }

    private func checksum(of text: String) -> String {
        let hash = text.utf8.reduce(key ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}
