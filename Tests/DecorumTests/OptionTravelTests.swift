import DecorumTesting
import HTTPTypes
import Testing

@testable import Decorum

/// Where the options of a request go.
@Suite struct OptionTravelTests {
    /// An option of an app that stays within the call that it was set for.
    private enum ScreenKey: RequestOptionKey {
        static let defaultValue: String? = nil
        static let travels = OptionTravel.call
    }

    /// One that goes to no other request at all.
    private enum OnceKey: RequestOptionKey {
        static let defaultValue = 0
        static let travels: OptionTravel = []
    }

    private static let kinds: [OptionTravel] = [.redirections, .attempts, .sharedRequests, .backgroundRequests]

    private func everyOption() throws -> RequestOptions {
        var options = RequestOptions()
        options.deadline = .now
        options.bodyDeadline = .now
        options.idleTimeout = .seconds(1)
        options.priority = .high
        options.callContext = CallContext(id: 7)
        options.attemptNumber = 2
        options[ScreenKey.self] = "inbox"
        options.principal = Principal("user-1")
        options.secretFields = [.accept]
        options.fragment = "part"
        options.routeName = "feed"
        options.redirectingOrigins = [try Origin("https://a.example")]
        options.retryPolicy = .never
        options.timePolicy = .transfer
        options.attemptTimePolicy = .transfer
        options.skipsAuthentication = true
        options.keepsContentCoding = true
        options.redirectionPolicy = .never
        options.allowsCoalescing = false
        options.allowsCellularAccess = false
        options.allowsExpensiveNetworkAccess = true
        options.networkServiceType = .background
        options[OnceKey.self] = 9
        return options
    }

    @Test func `Options that belong to a call stay in it`() throws {
        let options = try everyOption()
        for kind in Self.kinds {
            let other = options.travelling(kind)
            let isOfCall = OptionTravel.call.isSuperset(of: kind)
            #expect((other.deadline != nil) == isOfCall)
            #expect((other.bodyDeadline != nil) == isOfCall)
            #expect((other.idleTimeout != nil) == isOfCall)
            #expect((other.priority != nil) == isOfCall)
            #expect((other.callContext != nil) == isOfCall)
            #expect((other.attemptNumber != nil) == isOfCall)
            #expect((other[ScreenKey.self] != nil) == isOfCall)
            #expect(other[OnceKey.self] == 0)
        }
    }

    @Test func `Options about the caller and the way of asking go to every request`() throws {
        let options = try everyOption()
        for kind in Self.kinds {
            let other = options.travelling(kind)
            #expect(other.principal == Principal("user-1"))
            #expect(other.secretFields == [.accept])
            #expect(other.fragment == "part")
            #expect(other.routeName == "feed")
            #expect(other.redirectingOrigins == options.redirectingOrigins)
            #expect(other.retryPolicy == .never)
            #expect(other.timePolicy == .transfer && other.attemptTimePolicy == .transfer)
            #expect(other.skipsAuthentication && other.keepsContentCoding && !other.allowsCoalescing)
            #expect(other.redirectionPolicy != nil)
            #expect(other.allowsCellularAccess == false && other.allowsExpensiveNetworkAccess == true)
            #expect(other.allowsConstrainedNetworkAccess == nil && other.networkServiceType == .background)
        }
    }

    @Test func `A redirected request has the options that travel there`() async throws {
        let stub = StubConnection(
            Response(status: .found, fields: [.location: "/2"]), Response(status: .ok))
        var request = try Request.get("https://a.example/1")
        request.options.deadline = .now + .seconds(60)
        request.options[ScreenKey.self] = "inbox"
        request.options[OnceKey.self] = 9
        _ = try await stub.followingRedirects().send(request)
        #expect(stub.requests.map { $0.options[OnceKey.self] } == [9, 0])
        #expect(stub.requests.map { $0.options[ScreenKey.self] } == ["inbox", "inbox"])
        #expect(stub.requests.map(\.options.deadline) == [request.options.deadline, request.options.deadline])
    }
}
