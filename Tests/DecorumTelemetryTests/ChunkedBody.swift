import Decorum
import Foundation

/// A body that is streamed once, in chunks, and then ends or fails.
enum ChunkedBody {
    static func body(_ chunks: String..., failure: (any Error)? = nil) -> Body {
        Body(
            chunks: AsyncThrowingStream { stream in
                for chunk in chunks { stream.yield(Data(chunk.utf8)) }
                stream.finish(throwing: failure)
            })
    }
}
