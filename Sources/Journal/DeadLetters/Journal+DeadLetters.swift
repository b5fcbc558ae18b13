extension Journal {
    /// Opens the dead letters of one destination.
    /// - Parameter limit: the maximum of bytes that they may take.
    package func deadLetters(of destination: String, limit: Int) throws(JournalError) -> DeadLetterStore {
        try DeadLetterStore(context, quarantine, destination: destination, limit: limit)
    }
}
