public import Decorum
import Foundation
public import HTTPTypes
import Synchronization

/// A question to a server of your own, whose unexpected answer shows that a captive portal answers in place of servers.
///
/// The URL should have the scheme `http`, since a portal cannot answer in place of a server over `https`, and an answer that
/// never changes, such as an empty 204:
///
/// ```swift
/// let probe = try CaptivePortalProbe("http://probe.example.com/empty")
/// let network = ProbedNetwork(SystemNetwork(), by: probe)
/// let connection = SystemConnection().waitingForNetwork(on: network).retrying()
/// ```
///
/// The answer is asked for without credentials, cookies, caches and redirections.
public struct CaptivePortalProbe: Sendable {
    let request: Request
    let status: HTTPResponse.Status
    let content: Data
    let quietTime: Duration

    /// Creates a probe.
    ///
    /// - Parameters:
    ///   - url: The URL to ask.
    ///   - status: The status of the server.
    ///   - content: The content of the server.
    ///   - quietTime: The time between two probes of the same network. After a change, the next one comes at once, and no
    ///     sooner than a second after the last.
    /// - Throws: `InvalidRequestError` for an invalid URL.
    public init(
        _ url: String, status: HTTPResponse.Status = .noContent, content: String = "",
        quietTime: Duration = .seconds(60)
    ) throws(InvalidRequestError) {
        request = try Request.get(url, fields: [.cacheControl: "no-cache"])
        do { _ = try Origin(request.head) } catch {
            throw InvalidRequestError(.missingOrigin, "The URL of the probe names no server. Begin it with `http://`.")
        }
        self.status = status
        self.content = Data(content.utf8)
        self.quietTime = max(.zero, quietTime.bounded)
    }

    /// Whether an answer is one of a portal; nil if that is not known, since the server itself is in trouble.
    func isOfPortal(_ status: HTTPResponse.Status, content: Data?) -> Bool? {
        if status == self.status, content == self.content { return false }
        return status.code >= 500 || status == .tooManyRequests ? nil : true
    }
}

/// A network that also says whether a captive portal answers in place of servers (`isCaptive`).
///
/// A network that comes is shown as reachable once the probe has an answer, for which it waits 5 seconds at most. A portal, and
/// a probe without an answer, are asked again after the quiet time; otherwise only a change of the network is a reason to ask.
public final class ProbedNetwork: NetworkMonitor {
    private let view: SettableNetwork
    private let task: Task<Void, Never>

    /// Begins to watch and to probe a network.
    ///
    /// - Parameters:
    ///   - network: The monitor of the network.
    ///   - probe: The question.
    ///   - transport: A transport without layers, so that nothing else is sent, stored or followed.
    ///   - clock: The clock that waits.
    ///   - spawner: Starts the task that watches the network until this object ends.
    public init(
        _ network: any NetworkMonitor, by probe: CaptivePortalProbe,
        over transport: any Connection = SystemConnection(),
        clock: any DatedClock = SystemClock(), spawner: any TaskSpawner = SystemSpawner()
    ) {
        let view = SettableNetwork(network.state)
        let probing = NetworkProbing(
            probe: probe, transport: transport, watch: TimeLimitWatch(clock: clock), view: view)
        self.view = view
        task = spawner.spawn {
            var current: Task<Void, Never>?
            for await state in network.states() {
                current?.cancel()
                let number = probing.begin()
                current = nil
                if state.isReachable {
                    current = spawner.spawn { await probing.probe(state, number) }
                } else {
                    probing.show(state, number)
                }
            }
            // A monitor whose state never changes again still has its portal asked.
            await withTaskCancellationHandler { [current] in
                await current?.value
            } onCancel: { [current] in
                current?.cancel()
            }
        }
    }

    deinit { task.cancel() }

    /// The state now, with the last answer to the probe.
    public var state: NetworkState { view.state }

    /// The state now, and then each new state; a slow reader gets the newest one.
    public func states() -> AsyncStream<NetworkState> { view.states(retaining: self) }
}

private final class NetworkProbing: Sendable {
    private static let timeLimit = Duration.seconds(5)
    private static let shortestPause = Duration.seconds(1)

    private let probe: CaptivePortalProbe
    private let transport: any Connection
    private let watch: TimeLimitWatch
    private let view: SettableNetwork
    private let progress = Mutex(Progress())

    private struct Progress {
        /// The number of the last change of the network.
        var change = 0
        /// The instant of the last probe.
        var last: ContinuousClock.Instant?
    }

    init(probe: CaptivePortalProbe, transport: any Connection, watch: TimeLimitWatch, view: SettableNetwork) {
        (self.probe, self.transport, self.watch, self.view) = (probe, transport, watch, view)
    }

    /// Notes a change of the network, and returns its number.
    func begin() -> Int {
        progress.withLock { progress in
            progress.change += 1
            return progress.change
        }
    }

    /// Shows a state, unless the network has changed since.
    func show(_ state: NetworkState, _ number: Int) {
        progress.withLock { if $0.change == number { view.set(state) } }
    }

    /// Probes a network that has come, until it is known that no portal is there, or until the task is cancelled.
    func probe(_ state: NetworkState, _ number: Int) async {
        var state = state
        var pause = min(Self.shortestPause, probe.quietTime)
        repeat {
            if let next = progress.withLock({ $0.last })?.advanced(by: pause), next > watch.clock.now {
                do { try await watch.clock.sleep(until: next, tolerance: nil) } catch { return }
            }
            progress.withLock { $0.last = watch.clock.now }
            state.isCaptive = await isCaptive()
            guard !Task.isCancelled else { return }
            show(state, number)
            pause = max(probe.quietTime, Self.shortestPause)
        } while state.isCaptive != false
    }

    private func isCaptive() async -> Bool? {
        let end = watch.clock.instant(after: Self.timeLimit)
        var request = probe.request
        request.options.deadline = end
        request.options.bodyDeadline = end
        let answer = try? await watch.leavableValue(until: end) { [probe, transport, request] in
            let response = try await transport.send(request)
            // Longer content is not the expected one.
            return probe.isOfPortal(response.status, content: try? await response.body.data(upTo: probe.content.count))
        }
        return answer ?? nil
    }
}
