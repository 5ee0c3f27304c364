import Decorum
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The way that the requests of one configuration take.
///
/// A session makes the instances of a protocol from its class alone, so each way has a class of its own, and a table leads
/// from there to the connection. A class is never used a second time, since an old session may still have it.
struct BridgeRoute: Sendable {
    let connection: any Connection
    let delivery: URLSessionBridge.Delivery
    let fields: [String: String]

    private static let table = Mutex<(count: Int, routes: [ObjectIdentifier: BridgeRoute])>((0, [:]))

    static func begin(_ route: BridgeRoute) -> BridgingProtocol.Type {
        table.withLock { table in
            table.count += 1
            let type = BridgingProtocol.numbered(table.count)
            table.routes[ObjectIdentifier(type)] = route
            return type
        }
    }

    static func end(at type: BridgingProtocol.Type) {
        _ = table.withLock { $0.routes.removeValue(forKey: ObjectIdentifier(type)) }
    }

    /// Returns the way that belongs to a class; nil once its bridge is gone.
    static func route(of type: BridgingProtocol.Type) -> BridgeRoute? {
        table.withLock { $0.routes[ObjectIdentifier(type)] }
    }

    /// Adds the fields of the configuration that a request lacks.
    func completed(_ request: URLRequest) -> URLRequest {
        var request = request
        for (name, value) in fields where request.value(forHTTPHeaderField: name) == nil {
            request.setValue(value, forHTTPHeaderField: name)
        }
        return request
    }
}

extension BridgingProtocol {
    /// Returns a subclass for a number, which differs from those of all other numbers: its parameter is the number in
    /// binary digits.
    fileprivate static func numbered(_ number: Int) -> BridgingProtocol.Type {
        subclass(after: End.self, number)
    }

    private static func subclass<Digits>(after digits: Digits.Type, _ rest: Int) -> BridgingProtocol.Type {
        guard rest > 0 else { return NumberedProtocol<Digits>.self }
        return rest.isMultiple(of: 2)
            ? subclass(after: Zero<Digits>.self, rest / 2) : subclass(after: One<Digits>.self, rest / 2)
    }
}

private final class NumberedProtocol<Digits>: BridgingProtocol {}

private enum End {}

private enum Zero<Digits> {}

private enum One<Digits> {}
