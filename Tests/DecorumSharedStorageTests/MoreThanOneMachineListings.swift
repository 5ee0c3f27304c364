import Decorum
import DecorumAuthentication
import DecorumSharedStorage
import DecorumTraffic
import Foundation

#if Signing
import Crypto
import DecorumSigning
#endif

/// The listings of the page “More than one machine”.
private enum MoreThanOneMachineListings {
    static func stack(
        over storage: some SharedStorage, seal: SharedSeal, client: OAuthClient, origin: Origin
    ) throws -> some Connection {
        let responses = SharedResponseStore(on: storage, sealedBy: seal)
        let store = try SharedTokenStore(on: storage, named: "api", sealedBy: seal)
        let tokens = Tokens(in: store, from: client.refreshing())
        let rate = LimitPolicy(Limits(rate: .init(100, per: .seconds(1))))
        let connection = SystemConnection()
            .authenticating(with: tokens, for: origin)
            .limiting(rate, sharedBy: SharedLimits(on: storage, named: "api", machines: 8))
            .pacing(in: ServerPauses(sharedOn: storage, named: "api"))
            .retrying()
            .caching(in: responses)
            .acting(for: Principal("service"))
        return connection
    }

    static func etcd() -> some SharedStorage {
        let storage = EtcdStorage(at: "http://127.0.0.1:2379", over: SystemConnection())
        return storage
    }

    #if Signing
    static func dynamoDB() throws -> some SharedStorage {
        let url = "https://dynamodb.eu-west-1.amazonaws.com"
        let keys = AWSCredentialChain.standard(over: SystemConnection())
        let signer = SigV4(service: "dynamodb", region: "eu-west-1", credentials: keys)
        let connection = try SystemConnection().authenticating(with: .signer(signer), for: Origin(url))
        let storage = try DynamoDBStorage(table: "shared", at: url, over: connection)
        return storage
    }

    static func s3(_ storage: some SharedStorage, _ seal: SharedSeal) throws -> some ResponseStore {
        let bucket = "https://example-bodies.s3.eu-west-1.amazonaws.com"
        let keys = AWSCredentialChain.standard(over: SystemConnection())
        let signer = SigV4(service: "s3", region: "eu-west-1", credentials: keys)
        let connection = try SystemConnection().authenticating(with: .signer(signer), for: Origin(bucket))
        let bodies = try S3BodyStorage(bucket: bucket, over: connection)
        let responses = SharedResponseStore(on: storage, bodies: bodies, sealedBy: seal)
        return responses
    }

    static func sealing(with key: SymmetricKey) -> SharedSeal {
        let seal = SharedSeal { content, name in
            guard let sealed = try AES.GCM.seal(content, using: key, authenticating: name).combined else {
                throw CryptoKitError.incorrectParameterSize
            }
            return sealed
        } open: { sealed, name in
            try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key, authenticating: name)
        }
        return seal
    }
    #endif
}
