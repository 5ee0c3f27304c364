public import Decorum
import Foundation
public import HTTPTypes

/// A network that also says whether a captive portal answers in place of servers (`isCaptive`), by a question to a server of
/// your own.
///
/// The URL should have the scheme `http`, since a portal cannot answer in place of a server over `https`, and an answer that
/// never changes, such as an empty 204; another answer is one of a portal:
///
/// ```swift
/// let network = try ProbedNetwork(SystemNetwork(), asking: "http://probe.example.com/empty")
/// let connection = SystemConnection().waitingForNetwork(on: network).retrying()
/// ```
///
/// A network that comes is shown as reachable once the probe has an answer, for which it waits 5 seconds at most; one that takes
/// the place of another is shown at once. A portal, and a probe without an answer, are asked again after the quiet time;
/// otherwise only a change of the network is a reason to ask.
/// The answer is asked for without credentials, cookies, caches and redirections.
public final class ProbedNetwork: NetworkMonitor {
    private let view: SettableNetwork
    private let task: Task<Void, Never>

    /// Begins to watch and to probe a network.
    ///
    /// - Parameters:
    ///   - network: The monitor of the network.
    ///   - url: The URL to ask.
    ///   - status: The status of the server.
    ///   - content: The content of the server.
    ///   - quietTime: The time between two probes of the same network, at least a second. After a change, the next one comes at
    ///     once, and no sooner than a second after that of the change before.
    ///   - transport: A transport without layers, so that nothing else is sent, stored or followed.
    ///   - clock: The clock that waits.
    ///   - spawner: Starts the task that watches the network until this object ends.
    /// - Throws: `InvalidRequestError` for an invalid URL.
    public init(
        _ network: any NetworkMonitor, asking url: String, expecting status: HTTPResponse.Status = .noContent,
        content: String = "", quietTime: Duration = .seconds(60), over transport: any Connection = SystemConnection(),
        clock: any DatedClock = SystemClock(), spawner: any TaskSpawner = SystemSpawner()
    ) throws(InvalidRequestError) {
        let request = try Request.get(url, fields: [.cacheControl: "no-cache"])
        guard (try? Origin(request.head)) != nil else {
            throw InvalidRequestError(.missingOrigin, "The URL of the probe names no server. Begin it with `http://`.")
        }
        let view = SettableNetwork(network.state)
        let probe = CaptivePortalProbe(
            request: request, status: status, content: Data(content.utf8), quietTime: quietTime.bounded,
            transport: transport, watch: TimeLimitWatch(clock: clock), view: view)
        self.view = view
        task = spawner.spawn { await probe.follow(network, spawner) }
    }

    deinit { task.cancel() }

    /// The state now, with the last answer to the probe.
    public var state: NetworkState { view.state }

    /// The state now, and then each new state; a slow reader gets the newest one.
    public func states() -> AsyncStream<NetworkState> { view.states(retaining: self) }
}

private struct CaptivePortalProbe: Sendable {
    let request: Request
    let status: HTTPResponse.Status
    let content: Data
    let quietTime: Duration
    let transport: any Connection
    let watch: TimeLimitWatch
    let view: SettableNetwork

    private static let shortestPause = Duration.seconds(1)

    func follow(_ network: any NetworkMonitor, _ spawner: any TaskSpawner) async {
        var (start, current) = (watch.clock.now - Self.shortestPause, Task<Void, Never>?.none)
        for await var state in network.states() {
            current?.cancel()
            // Afterwards it shows no state.
            await current?.value
            current = nil
            // A request that may not use the new network must not take it for the old one.
            state.isCaptive = view.state.isCaptive == true ? true : nil
            if !state.isReachable || view.state.isReachable { view.set(state) }
            guard state.isReachable else { continue }
            let now = watch.clock.now
            if start <= now { start = max(now, start + Self.shortestPause) }
            current = spawner.spawn { [start, state] in await probe(state, from: start) }
        }
        // A monitor whose state never changes again still has its portal asked.
        await withTaskCancellationHandler { [current] in
            await current?.value
        } onCancel: { [current] in
            current?.cancel()
        }
    }

    /// Probes a network that has come, until it is known that no portal is there, or until the task is cancelled.
    private func probe(_ state: NetworkState, from start: ContinuousClock.Instant) async {
        var (state, start) = (state, start)
        repeat {
            do { try await watch.clock.sleep(until: start, tolerance: nil) } catch { return }
            start = watch.clock.instant(after: max(quietTime, Self.shortestPause))
            state.isCaptive = await isCaptive()
            guard !Task.isCancelled else { return }
            view.set(state)
        } while state.isCaptive != false
    }

    /// Whether an answer is one of a portal; nil if that is not known, as without an answer, or if the server itself is in trouble.
    private func isCaptive() async -> Bool? {
        var request = request
        request.options.deadline = watch.clock.instant(after: .seconds(5))
        request.options.bodyDeadline = request.options.deadline
        let answer = try? await watch.leavableValue(until: request.options.deadline) { [request] () -> Bool? in
            let response = try await transport.send(request)
            if response.status.code >= 500 || response.status == .tooManyRequests { return nil }
            guard response.status == status else { return true }
            do {
                return try await response.body.data(upTo: content.count) != content
            } catch is BodyLimitError {
                return true
            }
        }
        return answer ?? nil
    }
}
