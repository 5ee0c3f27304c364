public import Decorum
import Foundation
import HTTPTypes
import Synchronization

extension ServerPauses {
    /// Creates pauses that all machines of a fleet keep together: each one heeds what a server has asked any of them for.
    ///
    /// A machine tells the others of a pause in the background, and looks for theirs at most once in a second while it sends
    /// requests. So some requests may still be sent in the first second. No request waits for the storage, and while it fails,
    /// each machine has its own pauses. At most 64 pauses are told, the ones that began last.
    ///
    /// The name and the date of the clock are the same on all machines. The storage gets digests in place of the names of
    /// origins, users and routes.
    public convenience init(
        sharedOn storage: any SharedStorage, named name: String, clock: any DatedClock = SystemClock(),
        spawner: any TaskSpawner = SystemSpawner()
    ) {
        self.init(sharing: SharedPauses(on: storage, named: name, clock: clock, spawner: spawner))
    }
}

/// The pauses that the machines of a fleet tell each other, in one value of a storage.
final class SharedPauses: PauseSharing {
    private let state = Mutex((told: [SharedPause](), nextLook: ContinuousClock.Instant?.none))
    private let storage: GuardedStorage<any SharedStorage>
    private let key: SharedKey
    private let clock: any DatedClock
    private let spawner: any TaskSpawner
    let seed: UInt64

    init(on storage: any SharedStorage, named name: String, clock: any DatedClock, spawner: any TaskSpawner) {
        (self.storage, self.clock, self.spawner) = (GuardedStorage(storage, clock: clock), clock, spawner)
        seed = Checksum.of(Array(name.utf8)[...], seed: 0)
        key = SharedKey("pauses", numbers: seed)
    }

    var hasPauses: Bool {
        let now = clock.now
        let (isDue, hasPauses) = state.withLock { state in
            let isDue = state.nextLook.map { $0 <= now } ?? true
            if isDue { state.nextLook = now + .seconds(1) }
            return (isDue, !state.told.isEmpty)
        }
        if isDue { spawner.spawn { [weak self] in await self?.look() } }
        return hasPauses
    }

    func pause(of requests: UInt64) -> SharedPause? {
        state.withLock { $0.told.first { $0.requests == requests } }
    }

    func tell(_ pause: SharedPause) {
        spawner.spawn { [self] in
            for _ in 0..<5 {
                guard let present = try? await storage.value(of: key) as SharedValue?? else { return }
                let told = [SharedPause](present?.content, seed: seed).adding(pause, at: clock.date)
                let rest = Duration.seconds(told.map { $0.end.timeIntervalSince(clock.date) }.max() ?? 0)
                let written = try? await storage.write(
                    told.content(seed: seed), for: key, expiringAfter: max(rest, .seconds(1)),
                    if: .holding(present))
                if written != nil { return }
            }
        }
    }

    private func look() async {
        guard let value = try? await storage.value(of: key) as SharedValue?? else { return }
        let (told, now) = ([SharedPause](value?.content, seed: seed), clock.date)
        // A date that is ahead by more than a minute is wrong, and its pause might never end.
        state.withLock { $0.told = told.filter { $0.end > now && $0.start < now + 60 } }
    }
}

extension [SharedPause] {
    /// Reads pauses; a content that is damaged has no pause.
    init(_ content: Data?, seed: UInt64) {
        self = []
        let bytes = [UInt8](content?.prefix(2048) ?? Data())
        var reader = ByteReader(bytes[...])
        guard reader.number() == Checksum.of(bytes.dropFirst(8), seed: seed) else { return }
        while count < 64, let requests: UInt64 = reader.number(), let start: Int64 = reader.number(),
            let asked: UInt32 = reader.number(), let status: UInt16 = reader.number()
        {
            let cause = PacingError.Cause(
                status: .init(code: Int(status % 1000)), asked: .milliseconds(asked), isRateLimit: status >= 1000)
            append(SharedPause(requests, since: Date(timeIntervalSince1970: Double(start) / 1000), because: cause))
        }
    }

    /// Adds a pause in place of the one of the same requests, if it ends later, and leaves out the ones that began first.
    ///
    /// The date of this machine may be wrong, so it removes only what ended, or begins, far from it.
    func adding(_ pause: SharedPause, at date: Date) -> Self {
        let others = filter { $0.requests != pause.requests && $0.end > date - 60 && $0.start < date + 3600 }
        let same = filter { $0.requests == pause.requests && $0.start < date + 60 }
        let last = (same + [pause]).max { $0.end < $1.end } ?? pause
        return (others + [last]).sorted { $0.start < $1.start }.suffix(64)
    }

    func content(seed: UInt64) -> Data {
        var (writer, whole) = (ByteWriter(), ByteWriter())
        for pause in self {
            writer.add(pause.requests)
            writer.add(Int64(exactly: (pause.start.timeIntervalSince1970 * 1000).rounded(.down)) ?? 0)
            writer.add(UInt32(clamping: Int(pause.cause.asked.bounded / .milliseconds(1))))
            writer.add(UInt16(pause.cause.status.code + (pause.cause.isRateLimit ? 1000 : 0)))
        }
        whole.add(Checksum.of(writer.bytes[...], seed: seed))
        return Data(whole.bytes + writer.bytes)
    }
}
