#if CommandLine && !Signing
import Decorum

extension CredentialOptions {
    static func signing(
        _ kind: String, _ secret: String?, for origins: Set<Origin>, over network: any Connection, clock: any DatedClock
    ) throws -> StandardStack.Authentication {
        throw CommandFailure(.unavailable, "This build signs nothing. Build it with the trait Signing.")
    }
}
#endif
