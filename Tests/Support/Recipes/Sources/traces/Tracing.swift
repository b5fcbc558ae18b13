import Penstock
import ServiceContextModule

/// Records an event while a trace is the current one.
func recordInTrace(_ id: String, with analytics: Analytics) async {
    var context = ServiceContext.topLevel
    context[TraceID.self] = id
    ServiceContext.withValue(context) { analytics.track("Report Traced") }
    await analytics.flush()
}
