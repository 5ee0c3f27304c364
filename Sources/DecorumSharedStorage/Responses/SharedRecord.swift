import Decorum
import Foundation

/// A removal that holds for all machines: it writes a new epoch of what it covers.
enum SharedRemoval: Sendable, Hashable {
    case all
    case principal(Principal?)
    case uri(ResponseKey.URI)

    func epoch(in name: String) -> SharedKey {
        switch self {
        case .all: SharedKey(name, "all")
        case .principal(let principal): SharedKey(name, "p", numbers: ResponseKeyDigest.digest(of: principal))
        case .uri(let uri): SharedKey(name, "u", numbers: ResponseKeyDigest.digest(of: uri))
        }
    }

    func withdraw(from tickets: StoreTickets) {
        switch self {
        case .all: tickets.withdrawAll()
        case .principal(let principal): tickets.withdraw(of: principal)
        case .uri(let uri): tickets.withdraw(at: uri)
        }
    }
}

/// The keys of a record, and of the epochs of the removals that cover it: digests alone, since others may see them.
///
/// Several users may have one digest, so the key of the responses is compared as well.
final class RecordKeys: Sendable {
    let key: ResponseKey
    let removals: [SharedRemoval]
    /// The key of the record, and of the epoch of each removal.
    let all: [SharedKey]
    var record: SharedKey { all[0] }

    /// Finds the keys; nil for a key with a secret.
    init?(_ key: ResponseKey, in name: String) {
        guard !key.holdsSecret else { return nil }
        let digest = ResponseKeyDigest(key)
        self.key = key
        removals = [.all, .principal(key.principal), .uri(key.uri)]
        all =
            [SharedKey(name, "r", numbers: digest.uri, digest.key, digest.principal)]
            + removals.map { $0.epoch(in: name) }
    }

    func body(_ body: SharedBody) -> SharedKey { SharedKey(record.description, "b", numbers: body.nonce) }
}

/// Where the body of a response is, and how it is verified.
struct SharedBody: Sendable, Hashable {
    enum Place: UInt8, Sendable { case record, value, object }

    var place = Place.record
    /// A random number, which is a part of the name.
    let nonce: UInt64
    let length: UInt64
    let checksum: UInt64

    func isBody(_ content: some Collection<UInt8>) -> Bool {
        UInt64(content.count) == length && Checksum.of(Array(content)[...], seed: nonce) == checksum
    }
}

/// One response of a record, whose body is empty until it is known.
struct SharedVariant: Sendable {
    var response: StoredResponse
    /// The epochs that the ticket had.
    var epochs: [UInt64]
    /// The version of the record that the machine had seen, and the date and the number of the ticket.
    var order: [UInt64]
    var body: SharedBody
    var hasBody: Bool { response.body.bytes.map { UInt64($0.count) } == body.length }
    func isEarlier(than other: SharedVariant) -> Bool { order.lexicographicallyPrecedes(other.order) }

    /// The response as it is found, which a refresh knows by its number.
    var found: StoredResponse {
        var found = response
        found.fileNonce = body.nonce
        return found
    }
}

/// The bytes of the responses of one key.
enum SharedRecord {
    // "Shared" with the version of the format.
    private static let mark: UInt64 = 0x0001_6465_7261_6853

    /// The bytes of variants; nil if a head is too large.
    static func bytes(of variants: [SharedVariant], key: ResponseKey) -> [UInt8]? {
        var (first, writer) = (ByteWriter(), ByteWriter())
        writer.add(UInt8(clamping: variants.count))
        for variant in variants {
            guard let head = ResponseFile.head(of: variant.response, key: key) else { return nil }
            let body = variant.body
            for number in variant.epochs + variant.order + [body.nonce, body.length, body.checksum] {
                writer.add(number)
            }
            writer.add(body.place.rawValue)
            writer.add(part: head)
            if body.place == .record { writer.add(part: variant.response.body.bytes ?? Data()) }
        }
        first.add(mark)
        first.add(Checksum.of(writer.bytes[...], seed: mark))
        return first.bytes + writer.bytes
    }

    /// Parses the variants of a key, leaving out another key's; nil for damaged bytes.
    static func variants(in bytes: [UInt8], key: ResponseKey) -> [SharedVariant]? {
        var reader = ByteReader(bytes[...])
        guard reader.number() == mark, reader.number() == Checksum.of(bytes.dropFirst(16), seed: mark),
            let count: UInt8 = reader.number(), Int(count) <= MemoryResponseStore.variantLimit
        else { return nil }
        var variants: [SharedVariant] = []
        for _ in 0..<count {
            let numbers: [UInt64] = (0..<9).compactMap { _ in reader.number() }
            guard numbers.count == 9, let place = reader.number().flatMap(SharedBody.Place.init(rawValue:)),
                let head = reader.part(), let content = place == .record ? reader.part() : []
            else { return nil }
            let body = SharedBody(place: place, nonce: numbers[6], length: numbers[7], checksum: numbers[8])
            guard place != .record || body.isBody(content) else { return nil }
            guard var response = ResponseFile.response(head, key: key) else { continue }
            response.body = Body(Data(content))
            let (epochs, order) = (Array(numbers[0..<3]), Array(numbers[3..<6]))
            variants.append(SharedVariant(response: response, epochs: epochs, order: order, body: body))
        }
        return reader.isAtEnd ? variants : nil
    }
}
