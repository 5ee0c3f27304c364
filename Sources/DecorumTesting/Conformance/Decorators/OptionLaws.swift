import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that the options of a request reach the base, known or not.
    ///
    /// Options are how a caller speaks to a layer far in. A layer that makes a new request starts from the one it got.
    public static let options = DecoratorLaw(
        "options survive", "The options of a request reach the base each time that it is sent."
    ) { subject in
        for provocation in Provocation.all {
            var request = try Request.lawful()
            request.options[VendorOptionKey.self] = 42
            request.options.routeName = "resource/{id}"
            request.options.idleTimeout = .seconds(7)
            request.options.fragment = "part"
            request.options.principal = Principal("user-1")
            request.options.secretFields = [.accept]
            let provoked = try await provocation.provoke(subject, with: request) { _, _, outcome in
                Response(head: try outcome.get())
            }
            for options in provoked.requests.map(\.options) {
                try requireEqual(options[VendorOptionKey.self], 42, "After \(provocation), an option of a third party")
                try requireEqual(options.routeName, "resource/{id}", "After \(provocation), the route name")
                try requireEqual(options.idleTimeout, .seconds(7), "After \(provocation), the idle timeout")
                try requireEqual(options.fragment, "part", "After \(provocation), the fragment")
                try require(
                    options.principal == Principal("user-1"), "After \(provocation), the principal was changed.")
                try require(
                    options.secretFields.isSuperset(of: request.options.secretFields),
                    "After \(provocation), a field that the caller called secret was forgotten.")
            }
        }
    }

    /// Demands that the metadata of a response reaches the caller, known or not.
    public static let metadata = DecoratorLaw(
        "metadata survives", "The metadata of a response reaches the caller."
    ) { subject in
        for provocation in Provocation.all where provocation.calls == 1 {
            let url = URL(string: DecoratorLaw.origin + "/answered")
            let early = HTTPResponse(status: .init(code: 103))
            let provoked = try await provocation.provoke(subject, with: .lawful()) { _, number, outcome in
                var response = Response(head: try outcome.get())
                response.metadata[VendorMetadataKey.self] = number
                response.metadata.source = .cassette
                response.metadata.informational = [early]
                response.metadata.decodedContentCodings = ["gzip"]
                response.metadata.url = url
                return response
            }
            guard case .success(let response) = provoked.result else { continue }
            let metadata = response.metadata
            try requireEqual(
                metadata[VendorMetadataKey.self], provoked.requests.count,
                "After \(provocation), metadata of a third party")
            try requireEqual(metadata.source, .cassette, "After \(provocation), the source")
            try requireEqual(metadata.informational, [early], "After \(provocation), the informational responses")
            try requireEqual(metadata.decodedContentCodings, ["gzip"], "After \(provocation), the decoded codings")
            guard provoked.requests.count == 1 else { continue }
            try requireEqual(metadata.url, url, "After \(provocation), the URL that answered")
        }
    }
}

private enum VendorOptionKey: RequestOptionKey {
    static let defaultValue = 0
}

private enum VendorMetadataKey: ResponseMetadataKey {
    static let defaultValue = 0
}
