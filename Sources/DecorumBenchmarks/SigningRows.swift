#if Signing
import Crypto
import Decorum
import DecorumSigning
import Foundation
import HTTPTypes

/// The costs of signing a small request, beside the bare hashes that its scheme demands.
enum SigningRows {
    static func rows() throws -> [Row] {
        let body = Data(#"{"text": "hello", "tags": ["a", "b"]}"#.utf8)
        let request = try Request.post(
            "https://api.example.com/v1/notes?page=2", fields: [.contentType: "application/json"], body: Body(body))
        let key = SymmetricKey(data: Data("a key of the server, for its clients".utf8))
        let credentials = try AWSCredentials(
            accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
        let aws = SigV4(service: "execute-api", region: "us-east-1", credentials: credentials)
        let messages = MessageSigner(key: .hmac(key), id: "key-1")
        // As long as the canonical request, the string to sign and the signature base of the request are.
        let (canonical, toSign, base) = (Data(count: 260), Data(count: 130), Data(count: 220))
        return [
            Row("signing/bare hashes of SigV4") { count in
                for _ in 0..<count {
                    _ = (SHA256.hash(data: body), SHA256.hash(data: canonical))
                    _ = HMAC<SHA256>.authenticationCode(for: toSign, using: key)
                }
            },
            Row("signing/SigV4", over: "signing/bare hashes of SigV4", bounds: [.instructionRatio: 2]) { count in
                for _ in 0..<count { _ = try await aws.sign(request) }
            },
            Row("signing/SigV4, presigned", bounds: [.instructions: 146_000]) { count in
                for _ in 0..<count { _ = try await aws.presigned(request) }
            },
            Row("signing/bare hashes of RFC 9421") { count in
                for _ in 0..<count {
                    _ = SHA256.hash(data: body)
                    _ = HMAC<SHA256>.authenticationCode(for: base, using: key)
                }
            },
            Row("signing/RFC 9421", over: "signing/bare hashes of RFC 9421", bounds: [.instructionRatio: 2]) { count in
                for _ in 0..<count { _ = try await messages.sign(request) }
            },
        ]
    }
}
#endif
