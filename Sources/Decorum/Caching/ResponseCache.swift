import Foundation
import HTTPTypes

/// The parts of a cache that all of its requests share.
final class ResponseCache<Store: ResponseStore>: Sendable {
    let store: Store
    let policy: CachingPolicy
    let clock: any DatedClock
    let spawner: any TaskSpawner
    let sharedRequests: SharedRequests
    /// Ends the waits of callers.
    let watch: TimeLimitWatch
    let backgroundValidations = BackgroundValidations()
    let refreshesUnderWay = VariantsUnderWay()
    let originChanges = OriginChanges()
    /// The fields in which requests may differ that share a response.
    let ignoredFields: FieldNames
    let principalAdvice = PrincipalAdvice()
    /// The status of a response that was not in the store and does not come into it, by the number of its refusal: most
    /// responses have one of these.
    let refusedMisses: [SharedCacheStatus]

    init(_ store: Store, policy: CachingPolicy, clock: any DatedClock, spawner: any TaskSpawner) {
        self.store = store
        self.policy = policy
        self.clock = clock
        self.spawner = spawner
        sharedRequests = SharedRequests(layer: policy.mode.layerName, clock: clock, spawner: spawner)
        watch = sharedRequests.watch
        ignoredFields = FieldNames(policy.coalescing.ignoredFields)
        refusedMisses = StoringRules.Refusal.allCases.map { refusal in
            var status = CacheStatus(cache: policy.name)
            status.forwardReason = .uriMiss
            status.isStored = false
            status.detail = refusal.detail
            return SharedCacheStatus(status, hasFixedDetail: true)
        }
    }
}
