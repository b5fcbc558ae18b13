import CPenstockPlugin

/// Runs the body, and writes its error into the caller's buffer.
func answer(_ error: UnsafeMutablePointer<CChar>?, _ size: Int, _ body: () throws -> Void) -> Int32 {
    do {
        try body()
        return PENSTOCK_OK
    } catch is SinkBusy {
        return PENSTOCK_BUSY
    } catch let failure {
        guard let error = unsafe error, size > 0 else { return PENSTOCK_FAILED }
        let text = "\(failure)".utf8.prefix(size - 1)
        for (index, byte) in text.enumerated() { unsafe error[index] = CChar(bitPattern: byte) }
        unsafe error[text.count] = 0
        return PENSTOCK_FAILED
    }
}
