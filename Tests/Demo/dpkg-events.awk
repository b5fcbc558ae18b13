# Converts dpkg.log, which every Debian system has, to events: each line becomes a track event with its own time. The
# log is in local time: `offset` is the machine's offset, as `date +%:z` prints it, and `host` its name.
function quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    return "\"" text "\""
}
function known(version) { return version == "<none>" ? "null" : quoted(version) }
BEGIN {
    name["install"] = "Package Installed"
    name["upgrade"] = "Package Upgraded"
    name["configure"] = "Package Configured"
    name["remove"] = "Package Removed"
    name["purge"] = "Package Purged"
    name["trigproc"] = "Package Triggers Processed"
    name["status"] = "Package Status Changed"
    name["startup"] = "Package Run Started"
    name["conffile"] = "Configuration File Decided"
}
NF >= 4 && ($3 in name) {
    properties = ""
    if ($3 == "startup") {
        properties = "\"what\":" quoted($4) ",\"command\":" quoted($5)
    } else if ($3 == "conffile") {
        properties = "\"file\":" quoted($4) ",\"decision\":" quoted($5)
    } else {
        # status STATE PACKAGE:ARCHITECTURE VERSION; ACTION PACKAGE:ARCHITECTURE OLD NEW
        at = ($3 == "status") ? 5 : 4
        split($at, package, ":")
        properties = "\"package\":" quoted(package[1]) ",\"architecture\":" known(package[2] == "" ? "<none>" : package[2])
        if ($3 == "status")
            properties = properties ",\"state\":" quoted($4) ",\"version\":" known($6)
        else
            properties = properties ",\"old_version\":" known($5) ",\"version\":" known($6)
    }
    printf "{\"type\":\"track\",\"event\":%s,\"anonymousId\":%s,\"timestamp\":\"%sT%s%s\",\"properties\":{%s},\"context\":{\"app\":{\"name\":\"dpkg\"}}}\n",
        quoted(name[$3]), quoted(host), $1, $2, offset, properties
}
