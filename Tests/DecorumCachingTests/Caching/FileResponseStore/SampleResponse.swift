import Decorum
import Foundation
import HTTPTypes

/// Responses whose bytes follow from a number, a version and a length, which are in a field.
enum SampleResponse {
    static let label = HTTPField.Name("X-Sample") ?? .server
    static let confirmationLabel = HTTPField.Name("X-Confirmed") ?? .server

    static func request(_ number: Int, principal: String? = nil, fields: HTTPFields = [:]) throws -> Request {
        var request = try Request.get("https://example.com/\(number)", fields: fields)
        request.options.principal = principal.map(Principal.init)
        return request
    }

    static func key(_ number: Int, principal: String? = nil, fields: HTTPFields = [:]) throws -> ResponseKey {
        guard let key = ResponseKey(try request(number, principal: principal, fields: fields)) else {
            throw CancellationError()
        }
        return key
    }

    static func content(_ number: Int, _ version: Int, _ length: Int) -> Data {
        let generator = SeededGenerator(seed: UInt64(number) << 40 | UInt64(version) << 20 | UInt64(length))
        // The same random numbers, each time from another start, because generating them all takes long.
        var numbers = (0..<min(length / 8 + 1, 509)).map { _ in generator.next() }
        var content = Data(capacity: length + numbers.count * 8)
        while content.count < length {
            // Copied within the closure.
            unsafe numbers.withUnsafeBytes { bytes in unsafe content.append(contentsOf: bytes) }
            numbers[0] &+= 1
        }
        return Data(content.prefix(length))
    }

    /// A response of a number; with `vary`, the value of `Accept` that selected it.
    static func response(
        _ number: Int, version: Int = 0, length: Int = 1000, status: HTTPResponse.Status = .ok,
        fields: HTTPFields = [:], vary: String? = nil, confirmed: Int = 0, body: Body? = nil
    ) -> StoredResponse {
        var head = HTTPResponse(
            status: status, headerFields: [label: "\(number)-\(version)-\(length)", .cacheControl: "max-age=60"])
        head.headerFields.append(contentsOf: fields)
        var request = HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/\(number)")
        if let vary {
            head.headerFields[.vary] = "Accept"
            request.headerFields[.accept] = vary
        }
        return StoredResponse(
            head: head, body: body ?? Body(content(number, version, length)), request: request,
            requestDate: Date(timeIntervalSince1970: 1e9), date: date(version, confirmed: confirmed))
    }

    private static func date(_ version: Int, confirmed: Int) -> Date {
        Date(timeIntervalSince1970: 1e9 + Double(version) + Double(confirmed) * 1e6)
    }

    /// A found sample as it is after the server has confirmed it a number of times.
    static func confirmed(_ response: StoredResponse, _ count: Int, fields: HTTPFields = [:]) -> StoredResponse {
        var head = response.head
        head.headerFields[confirmationLabel] = "\(count)"
        head.headerFields.append(contentsOf: fields)
        let version = (head.headerFields[label] ?? "").split(separator: "-").compactMap { Int($0) }.dropFirst().first
        return StoredResponse(
            head: head, body: response.body, selectingFields: response.selectingFields,
            requestDate: response.requestDate, date: date(version ?? 0, confirmed: count))
    }

    /// Whether a response is the unchanged sample of a number: the head, and each byte of the body.
    static func isRight(_ response: StoredResponse, _ number: Int) async -> Bool {
        let parts = (response.head.headerFields[label] ?? "").split(separator: "-").compactMap { Int($0) }
        guard parts.count == 3, parts[0] == number, response.head.status == .ok,
            let confirmed = Int(response.head.headerFields[confirmationLabel] ?? "0"),
            response.date == date(parts[1], confirmed: confirmed),
            response.head.headerFields[.cacheControl] == "max-age=60",
            let content = try? await response.body.data(upTo: .max)
        else { return false }
        return content == self.content(number, parts[1], parts[2])
    }
}

/// A folder of a test, which is removed with this object.
final class StoreFolder: Sendable {
    let url = FileManager.default.temporaryDirectory
        .appending(path: "decorum-store-\(String(SystemGenerator().next(), radix: 36))", directoryHint: .isDirectory)

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func store(byteLimit: Int = 64 << 20) -> FileResponseStore {
        FileResponseStore(directory: url, byteLimit: byteLimit)
    }

    /// The paths of all files in the folder, without the times of removals.
    var files: [String] {
        let paths = FileManager.default.enumerator(atPath: url.path)?.compactMap { $0 as? String } ?? []
        return paths.filter { !$0.hasSuffix("removed") }.map { url.path + "/" + $0 }.filter { path in
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            return attributes?[.type] as? FileAttributeType == .typeRegular
        }
    }

    /// The bytes that all files take, in blocks of a disk.
    var allocatedLength: Int {
        files.reduce(0) { total, path in
            let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
            return total + ((size ?? 0) + 4095) / 4096 * 4096
        }
    }
}

/// Each way to remove the responses of a key from a store.
enum Removal: CaseIterable {
    case key, uri, principal, all

    func remove(_ key: ResponseKey, from store: some ResponseStore) async {
        switch self {
        case .key: await store.removeResponses(for: key)
        case .uri: await store.removeResponses(at: key.uri)
        case .principal: await store.removeResponses(of: key.principal)
        case .all: await store.removeAllResponses()
        }
    }
}

extension ResponseStore {
    /// Starts to keep the response to a request that is sent now.
    func writer(for response: StoredResponse, key: ResponseKey) async -> (any ResponseWriter)? {
        await writer(for: response, key: key, with: ticket(for: key))
    }
}
