import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that the options of a request reach the base, known or not.
    ///
    /// By options a caller controls an inner layer. A layer that makes a new request starts from the one that it got.
    public static let options = DecoratorLaw(
        "options", "The options of a request reach the base each time that it is sent."
    ) { subject in
        for path in subject.provocations {
            var request = try path.request()
            request.options[VendorOptionKey.self] = 42
            request.options.routeName = "resource/{id}"
            request.options.idleTimeout = .seconds(7)
            request.options.fragment = "part"
            request.options.principal = Principal("user-1")
            request.options.secretFields.insert(.accept)
            let provoked = try await path.provoke(subject, with: request) { _, _, outcome in
                try outcome.get()
            }
            for options in provoked.requests.map(\.options) {
                try requireEqual(options[VendorOptionKey.self], 42, "After \(path), an option of a third party")
                try requireEqual(options.routeName, "resource/{id}", "After \(path), the route name")
                try requireEqual(options.idleTimeout, .seconds(7), "After \(path), the idle timeout")
                try requireEqual(options.fragment, "part", "After \(path), the fragment")
                try require(
                    options.principal == Principal("user-1"), "After \(path), the principal was changed.")
                try require(
                    options.secretFields.isSuperset(of: request.options.secretFields),
                    "After \(path), a field that the caller called secret was forgotten.")
            }
        }
    }

    /// Demands that the metadata of a response reaches the caller, known or not.
    public static let metadata = DecoratorLaw(
        "metadata", "The metadata of a response reaches the caller."
    ) { subject in
        for path in subject.provocations where path.calls == 1 {
            let url = URL(string: DecoratorLaw.origin + "/answered")
            let early = HTTPResponse(status: .init(code: 103))
            let provoked = try await path.provoke(subject, with: path.request()) { request, number, outcome in
                var response = try outcome.get()
                guard !subject.isOwnRequest(request.head) else { return response }
                response.metadata[VendorMetadataKey.self] = number
                response.metadata.source = .cassette
                response.metadata.informational = [early]
                response.metadata.decodedContentCodings = ["gzip"]
                response.metadata.url = url
                return response
            }
            guard case .success(let response) = provoked.result else { continue }
            let metadata = response.metadata
            guard path.isOfLaws || !provoked.mayAnswer else { continue }
            try requireEqual(
                metadata[VendorMetadataKey.self], provoked.sent.count,
                "After \(path), metadata of a third party")
            try requireEqual(metadata.source, .cassette, "After \(path), the source")
            try requireEqual(metadata.informational, [early], "After \(path), the informational responses")
            // A layer that decodes adds what it has decoded to what the transport has.
            let codings = path.isOfLaws ? metadata.decodedContentCodings : metadata.decodedContentCodings.suffix(1)
            try requireEqual(codings, ["gzip"], "After \(path), the decoded codings")
            guard provoked.requests.count == 1 else { continue }
            try requireEqual(metadata.url, url, "After \(path), the URL that answered")
        }
    }
}

private enum VendorOptionKey: RequestOptionKey {
    static let defaultValue = 0
}

private enum VendorMetadataKey: ResponseMetadataKey {
    static let defaultValue = 0
}
