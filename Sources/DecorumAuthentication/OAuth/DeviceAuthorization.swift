import Decorum
import Foundation

/// The code that a device without a browser shows to its user (RFC 8628).
///
/// ```swift
/// let device = try await client.authorizeDevice(scope: "notes")
/// print("Open \(device.verificationURI) and enter \(device.userCode)")
/// try await tokens.signIn(with: client.token(for: device))
/// ```
public struct DeviceAuthorization: Sendable {
    /// The code that the user enters.
    public let userCode: String
    /// The URL that the user opens on another device.
    public let verificationURI: String
    /// The URL with the code in it, for a QR code; nil where the server gives none.
    public let completeVerificationURI: String?
    /// The instant at which the code expires.
    public let expiry: ContinuousClock.Instant
    /// The time between two questions to the server.
    public let interval: Duration
    let deviceCode: String
}

extension DeviceAuthorization: SecretHolder {
    /// A fixed word: the codes are secrets until they expire.
    public var description: String { "a device authorization" }
}

extension OAuthClient {
    /// Asks for a code that the user enters on another device.
    ///
    /// - Parameters:
    ///   - scope: The scope to ask for.
    ///   - resources: The URIs of the resources that the token is for (RFC 8707).
    /// - Returns: The code and the URL to show.
    /// - Throws: ``OAuthError`` and the errors of the connection.
    public func authorizeDevice(scope: String? = nil, resources: [String] = []) async throws -> DeviceAuthorization {
        let parameters = (scope.map { [("scope", $0)] } ?? []) + resources.map { ("resource", $0) }
        let answer = try await send(parameters, to: server.deviceAuthorization, endpoint: "device authorization")
        if let error = answer.error { throw error }
        let (deviceCode, userCode) = (try answer.required("device_code"), try answer.required("user_code"))
        // Google writes the name of an early draft.
        let uri = try answer["verification_uri"] ?? answer["verification_url"] ?? answer.required("verification_uri")
        guard let lifetime = answer.lifetime("expires_in") else { throw answer.unusable(without: "expires_in") }
        return DeviceAuthorization(
            userCode: userCode, verificationURI: uri, completeVerificationURI: answer["verification_uri_complete"],
            expiry: clock.now + .seconds(min(lifetime, Self.longestDeviceLifetime)),
            // A server that forgets the interval means five seconds (section 3.2).
            interval: .seconds(min(max(1, answer.lifetime("interval") ?? 5), 60)), deviceCode: deviceCode)
    }

    /// Waits until the user has entered the code, and gets the token.
    ///
    /// The server is asked again after each interval, which grows by five seconds when the server says `slow_down`, and
    /// doubles after a failure of the connection. Cancelling the task ends the wait.
    ///
    /// - Parameter device: The code.
    /// - Returns: The token, for ``Tokens/signIn(with:)``.
    /// - Throws: ``OAuthError``: `access_denied` where the user refuses, `expired_token` at the end of the code.
    public func token(for device: DeviceAuthorization) async throws -> Token {
        var interval = device.interval
        let parameters =
            Self.parameters("urn:ietf:params:oauth:grant-type:device_code", nil, []) + [
                ("device_code", device.deviceCode)
            ]
        while clock.now + interval < device.expiry {
            try await clock.sleep(until: clock.now + interval, tolerance: nil)
            do {
                return try await token(parameters)
            } catch let error as OAuthError {
                guard error.mayPass else { throw error }
                if error.code == .slowDown { interval += .seconds(5) }
                if let asked = error.retryAfter { interval = max(interval, min(asked, .seconds(60))) }
            } catch let error as any TemporaryError {
                guard error.mayPass else { throw error }
                interval = min(interval * 2, .seconds(60))
            }
        }
        throw OAuthError(.expiredToken)
    }

    /// The longest time in seconds for which a device asks.
    private static var longestDeviceLifetime: Double { 3600 }
}
