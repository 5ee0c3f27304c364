public import Decorum
import Foundation

/// The reason why a simulation cannot run or does not end.
public struct SimulationError: DescribableError, Sendable, Hashable {
    /// The cause and the way to mend it.
    public let description: String

    static let noHook = SimulationError(
        description: """
            The runtime of Swift does not show `swift_task_enqueueGlobal_hook`, so tasks have no fixed order. Run the \
            simulation with the shared library of the runtime.
            """)
    static let nested = SimulationError(
        description: "A simulation runs on this thread, or with this clock, already. Start the next one after its end.")
    static let stuck = SimulationError(
        description: """
            No task is ready or sleeps on the simulated clock, and the work has not ended. Give the stack the clock of the \
            simulation, and wait for nothing outside of it, such as `Task.sleep`, the main actor or a queue.
            """)
    static let leftThread = SimulationError(
        description: """
            A task ran on another thread, so the run cannot be repeated. Wait on the simulated clock alone: `Task.sleep`, \
            the main actor, a queue, and `Task.yield` after the call of an actor leave the simulation.
            """)
    static let restless = SimulationError(
        description: "Tasks run on while the simulated time stands still. Look for a loop that waits for nothing.")

    static func endless(_ limit: Duration) -> SimulationError {
        SimulationError(
            description: "The work has not ended after \(limit) of simulated time. Look for a call without end.")
    }
}
