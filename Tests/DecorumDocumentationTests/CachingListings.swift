import Decorum
import DecorumTesting
import Foundation

struct CachingListings {
    func revalidating() {
        let connection = SystemConnection()
            .revalidating(in: MemoryResponseStore())
        _ = connection
    }

    func caching() {
        let connection = SystemConnection()
            .retrying()
            .caching(in: MemoryResponseStore())
            .followingRedirects()
        _ = connection
    }

    func policy(store: MemoryResponseStore, transport: some Connection) {
        var policy = CachingPolicy.standard
        policy.staleIfSlow = .seconds(2)
        policy.mayStore = { request, _ in request.path?.hasPrefix("/private/") == false }
        let connection = transport.caching(in: store, policy: policy)
        _ = connection
    }

    func cacheUse() throws {
        var request = try Request.get("https://api.example.com/feed")
        request.options.cacheUse = .reload
        _ = request
    }

    func status(of response: Response) {
        if let status = response.metadata.cacheStatus {
            print(status)  // Decorum;hit;ttl=42, or Decorum;fwd=stale;fwd-status=304;stored
        }
    }

    func files(caches: URL) {
        let store = FileResponseStore(directory: caches.appending(path: "Responses"))
        _ = store
    }

    func selected(settings: Settings, files: any ResponseStore, memory: any ResponseStore) {
        let store = SelectedResponseStore { settings.keepsResponses ? files : memory }
        _ = store
    }

    struct Settings: Sendable { var keepsResponses: Bool }

    func signingOut(store: FileResponseStore) async {
        await store.removeResponses(of: Principal("user-42"))
    }

    struct Offline: ReachabilityError {
        var meansServerNotReached: Bool { true }
    }
}
