/// A store that forwards to another store, which is selected at each use.
///
/// Use it when an app selects the store while it runs, as when a user turns off storage on disk:
///
/// ```swift
/// let store = SelectedResponseStore { settings.keepsResponses ? files : memory }
/// ```
///
/// A stored response stays in the store that was selected at that time, and is found again when that store is selected
/// again. A removal affects only the store that is selected at that time; the app has to empty the others.
public struct SelectedResponseStore: ResponseStore {
    private let selection: @Sendable () -> any ResponseStore

    /// Creates a store that calls a closure to select a store.
    ///
    /// - Parameter selection: Returns the store to use now. It is called for each request, more than once, and must not
    ///   block.
    public init(_ selection: @escaping @Sendable () -> any ResponseStore) {
        self.selection = selection
    }

    /// The largest body, in bytes, that the chosen store takes.
    public var bodyLimit: Int { selection().bodyLimit }

    /// Gives a ticket of the chosen store.
    ///
    /// A response is not stored if another store was chosen before it was complete.
    public func ticket(for key: ResponseKey) -> StoreTicket { selection().ticket(for: key) }

    /// Finds what the chosen store has.
    public func responses(for key: ResponseKey) async -> [StoredResponse] {
        await selection().responses(for: key)
    }

    /// Keeps a response in the chosen store.
    @discardableResult
    public func store(_ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket) async -> Bool {
        await selection().store(response, for: key, with: ticket)
    }

    /// Replaces the fields and the dates of a response in the chosen store.
    @discardableResult
    public func refresh(
        _ stored: StoredResponse, with refreshed: StoredResponse, for key: ResponseKey, with ticket: StoreTicket
    ) async -> Bool {
        await selection().refresh(stored, with: refreshed, for: key, with: ticket)
    }

    /// Starts to keep a response in the store that is chosen now.
    public func writer(
        for response: StoredResponse, key: ResponseKey, with ticket: StoreTicket
    ) async -> (any ResponseWriter)? {
        await selection().writer(for: response, key: key, with: ticket)
    }

    /// Removes every response under a key from the chosen store.
    public func removeResponses(for key: ResponseKey) async {
        await selection().removeResponses(for: key)
    }

    /// Removes the responses under a key from the chosen store that were stored with earlier tickets.
    public func removeResponses(for key: ResponseKey, before ticket: StoreTicket) async {
        await selection().removeResponses(for: key, before: ticket)
    }

    /// Removes every response of a URI from the chosen store.
    public func removeResponses(at uri: ResponseKey.URI) async {
        await selection().removeResponses(at: uri)
    }

    /// Removes every response of a principal from the chosen store.
    public func removeResponses(of principal: Principal?) async {
        await selection().removeResponses(of: principal)
    }

    /// Removes every response from the chosen store.
    public func removeAllResponses() async {
        await selection().removeAllResponses()
    }
}
