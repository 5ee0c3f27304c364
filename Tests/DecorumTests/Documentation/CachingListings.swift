import Decorum

struct CachingListings {
    func revalidating() {
        let connection = URLSessionConnection()
            .revalidating(in: MemoryResponseStore())
        _ = connection
    }
}
