#if !CommandLine
import Foundation

/// The program of a build without the trait, which says how to get the command.
@main
enum WithoutCommandLine {
    static func main() {
        let text = "This build has no command. Enable the trait, as in “swift run --traits CommandLine decorum URL”.\n"
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
        // A service is not available (`EX_UNAVAILABLE`).
        exit(69)
    }
}
#endif
