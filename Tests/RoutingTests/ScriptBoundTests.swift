import Events
import Testing

@testable import Routing

/// The result of a script for one event.
@Suite("Scripts: limits")
struct ScriptBoundTests: ScriptRun {
    @Test(arguments: [
        "while true do end", "for i = 1, 1e9 do end", "local function f() return f() end f()",
        "local s = ('a'):rep(30000) s:find('.-.-.-.-b')", "(('a'):rep(30000)):match('(a*)*b')",
        "(('a'):rep(2000)):gsub('a-a-a-a-a-b', '')", "for _ in (('x'):rep(100000)):gmatch('.-y') do end",
        "local t = {} for i = 1, 30000 do t[i] = i end for i = 1, 30000 do table.insert(t, 1, i) end",
        "local t = {} for i = 1, 30000 do t[i] = 'x' end while true do table.concat(t) end",
        "local t = {} for i = 1, 30000 do t[i] = -i end while true do table.sort(t) end",
        "local s = ('x'):rep(200000) while true do local u = s:upper() end",
        "local s = ('x'):rep(200000) while true do local u = utf8.len(s) end",
        "local s = ('x'):rep(200000) while true do s:find('y', 1, true) end",
        "local s = (' '):rep(200000) .. 1.5 while true do local x = s * s end",
        "local s = (' '):rep(200000) .. 1.5 while true do local x = -s end",
        "local s = (' '):rep(200000) .. 1.5 while true do local x = math.floor(s) end",
        "local s = (' '):rep(200000) .. 1 while true do local x = math.random(s) end",
        "local s = (' '):rep(200000) .. 1 while true do local x = ('x'):sub(s) end",
        "local s = ('x'):rep(200000) while true do local x = ('%.1s'):format(s) end",
        "local s, t = ('\\0'):rep(200000), {} for i = 1, 200 do t[i] = s end table.sort(t)",
        "local s, f = ('\\x80'):rep(200000), utf8.codes('x') while true do f(s, 1) end",
        "local s = '[' .. ('a'):rep(200000) .. ']z' s:find(s)",
        "local t = {} while true do table.unpack(t, 1, 10000) end",
        "local s = ('x'):rep(10000) while true do s:byte(1, -1) end",
        "local t = {} for i = 1, 10000 do t[i] = 5e-324 end return { v = { t, t, t, t } }",
        "table.sort({3,2,1}, function() while true do end end)",
    ])
    func `a script that takes too long is stopped, also in functions whose work Lua does not count`(_ script: String) {
        guard case .failed(_, let message) = run(script, "{}") else {
            Issue.record("it came to an end")
            return
        }
        #expect(message == "stopped after 200000 instructions")
    }

    @Test(arguments: [
        "local a, b = ('x'):rep(200000), ('x'):rep(100000) .. ('x'):rep(100000) while true do local x = a == b end",
        "local a, b = ('\\0'):rep(200000), ('\\0'):rep(100000) .. ('\\0'):rep(100000) while true do local x = a <= b end",
        "local t = {} for i = 1, 20000 do t[i] = i end for i = 1, 20000 do t[i] = nil end while true do pairs(t) end",
        "local t = {} for i = 1, 20000 do t[i] = i end t.a = 1 while true do t.b = 1 t.b = nil t.c = 1 t.c = nil t.d = 1 t.d = nil end",
    ])
    func `work that cannot be counted is stopped by the time limit`(_ script: String) {
        var limits = Script.Limits()
        limits.time = .milliseconds(5)
        limits.instructions = 100_000_000
        #expect(run(script, "{}", limits: limits) == .failed(line: 1, "stopped after 5 ms of processor time"))
    }

    @Test(arguments: [
        (#"{"p":{"# + Array(repeating: #""":0"#, count: 200_000).joined(separator: ",") + "}}", "return event"),
        (#"{"p":{"# + Array(repeating: #""\u0061":0"#, count: 200_000).joined(separator: ",") + "}}", "return event"),
        (
            #"{"p":{"# + (0..<3000).map { "\"\($0)\":0" }.joined(separator: ",") + "}}",
            "for k in pairs(event.p) do event.p[k] = nil end local t = {} for i = 1, 1000 do t[i] = event end return t"
        ),
        (
            #"{"p":""# + String(repeating: #"\u0041"#, count: 5000) + "\"}",
            "event.p = 'x' local t = {} for i = 1, 1000 do t[i] = event end return t"
        ),
    ])
    func `the work for any event is limited`(_ event: String, _ script: String) {
        #expect(run(script, event) == .failed(line: nil, "stopped after 200000 instructions"))
    }

    @Test
    func `thousands of duplicates of a name stay within the limits`() {
        let members = Array(repeating: #""":0"#, count: 6400) + [#""x":1"#, #""":2"#, #""\u0078":3"#]
        #expect(
            run("return event", #"{"p":{"# + members.joined(separator: ",") + "}}")
                == .events([#"{"p":{"":2,"\u0078":3}}"#]))
    }

    @Test(arguments: [
        "return { v = ('x'):rep(1e9) }", "return { v = ('x'):rep(1e6) }",
        "local t = {} for i = 1, 1e9 do t[i] = {} end",
        "local s = 'x' while true do s = s .. s end", "local t = {} for i = 1, 60 do t[i] = ('x'):rep(200000 + i) end",
        "return { v = ('x'):rep(100000):gsub('x', ('y'):rep(1000)) }", "return table.unpack({}, 1, 1e5)",
    ])
    func `a script that takes too much memory is stopped`(_ script: String) {
        guard case .failed(_, let message) = run(script, "{}") else {
            Issue.record("it came to an end")
            return
        }
        #expect(
            message.hasPrefix("needs more than 8388608 bytes of memory") || message.contains("stopped after")
                || message.contains("too many results"))
    }

    @Test
    func `an empty text repeated any number of times is empty at once`() {
        #expect(value("(''):rep(1 << 62)") == "\"\"")
        #expect(value("(''):rep(1 << 62, '')") == "\"\"")
        #expect(value("string.rep(7, 3) .. string.rep('a', 2, 0) .. string.rep('a', 0)") == "\"777a0a\"")
    }

    @Test
    func `the depth and size of the returned value are limited`() {
        let deep = "the returned value is nested deeper than 128 levels, or contains itself"
        #expect(run("event.self = event return event", "{}") == .failed(line: nil, deep))
        #expect(
            run("local s = ('x'):rep(250000) return { a = s, b = s, c = s, d = s, e = s }", "{}")
                == .failed(line: nil, "the script returned more than 1048576 bytes"))
        let doubling = "local t = {} for i = 1, 60 do t = { t, t } end return { v = t }"
        #expect(run(doubling, "{}") == .failed(line: nil, "stopped after 200000 instructions"))
        guard case .failed(_, let message) = run("local function f() return 1 + f() end f()", "{}") else {
            Issue.record("it came to an end")
            return
        }
        #expect(message.contains("stack overflow") || message.contains("memory") || message.contains("stopped"))
        let nested = #"{"a":"# + String(repeating: "[", count: 200) + String(repeating: "]", count: 200) + "}"
        #expect(run("return event", nested) == .failed(line: nil, "the event is nested deeper than 128 levels"))
    }

    @Test
    func `a script that failed still works for the next event`() throws {
        let script = try Script(
            "if event.bad then while true do event[#event + 1] = {} end end return event", limits: .init())
        for _ in 0..<20 {
            guard case .failed = call(script, #"{"bad":true}"#) else {
                Issue.record("it came to an end")
                return
            }
            #expect(call(script, #"{"a":1}"#) == .events([#"{"a":1}"#]))
        }
    }

    @Test
    func `memory and work left by one event do not count against the next`() throws {
        var limits = Script.Limits()
        limits.memory = 1 << 20
        limits.instructions = 50_000
        let script = try Script(
            """
            local part = ('x'):rep(100)
            if event.bad then
              kept = {}
              while true do kept[#kept + 1] = part:rep(100) .. #kept end
            end
            for i = 1, 47500 do end
            local one = part:rep(100)
            return event
            """, limits: limits)
        for _ in 0..<3 {
            guard case .failed(line: 4, _) = call(script, #"{"bad":true}"#) else {
                Issue.record("it came to an end")
                return
            }
            #expect(call(script, #"{"a":1}"#) == .events([#"{"a":1}"#]))
        }
    }

    @Test
    func `a script's changes are not visible to the next event`() throws {
        let script = try Script(
            "n = (n or 0) + 1 if type(string.extra) ~= 'nil' then n = 100 end event.n = n return event", limits: .init()
        )
        for _ in 0..<3 { #expect(call(script, "{}") == .events([#"{"n":1}"#])) }
    }

    @Test(arguments: [
        "os", "io", "debug", "package", "require", "load", "loadstring", "loadfile", "dofile", "print",
        "collectgarbage",
        "coroutine", "getmetatable", "setmetatable", "rawset", "rawget", "pcall", "xpcall", "next", "_G",
        "string.dump", "string.pack", "table.move", "math.randomseed", "warn",
    ])
    func `functions that are not on the list are absent`(_ name: String) {
        #expect(value("type(\(name))") == "\"nil\"")
    }

    @Test(arguments: [
        "string.upper = nil", "math.x = 1", "table.insert = print", "utf8.char = 1", "string.x = function() end",
    ])
    func `libraries cannot be changed`(_ statement: String) {
        #expect(run("\(statement) return event", "{}") == .failed(line: 1, "a library cannot be changed"))
    }

    @Test
    func `the same event gives the same bytes, because pairs has an order and random numbers a fixed seed`() throws {
        let names = (0..<50).map { "k\($0 * 7919 % 50)" }
        let event = "{" + names.map { "\"\($0)\":1" }.joined(separator: ",") + "}"
        let script = "local l = {} for k in pairs(event) do l[#l + 1] = k end return { l = l }"
        let sorted = names.sorted().map { "\"\($0)\"" }.joined(separator: ",")
        #expect(run(script, event) == .events(["{\"l\":[\(sorted)]}"]))
        #expect(
            value(
                "(function() local s = '' for k, v in pairs({ b = 1, 'x', a = 2, 'y' }) do s = s .. k .. v end return s end)()"
            )
                == "\"1x2ya2b1\"")
        let random = "return { v = { math.random(1000000), math.random() } }"
        let first = run(random, "{}", seed: 5)
        #expect(run(random, "{}", seed: 5) == first)
        #expect(run(random, "{}", seed: 6) != first)
        let again = try Script(random, limits: .init())
        #expect(call(again, "{}", seed: 5) == first)
        #expect(call(again, "{}", seed: 5) == first)
        #expect(
            value("tostring({}) .. tostring(pairs) .. string.format('%s %5s', {}, null)")
                == "\"tablefunctiontable  null\"")
        #expect(run("return { v = string.format('%p', {}) }", "{}") == .failed(line: 1, "%p is not supported"))
        #expect(
            run("return { v = string.format('\\0%s %p', {}, {}) }", "{}") == .failed(line: 1, "%p is not supported"))
        #expect(value("string.format('\\0%s%%%5s%s', {}, print, null)") == "\"\\u0000table%  nilnull\"")
        #expect(
            value(
                "(function() local s = '' for k, v in pairs({ [true] = 1, [false] = 2, [null] = 3, a = 4, 5, [1.5] = 6, [-1] = 7 }) do s = s .. v end return s end)()"
            )
                == "\"7564213\"")
        #expect(
            value(
                "(function() local s = '' for k, v in pairs({ [1 << 62] = 'b', [(1 << 62) + 1] = 'c', [-1e300] = 'a', [1e300] = 'd' }) do s = s .. v end return s end)()"
            )
                == "\"abcd\"")
        var limits = Script.Limits()
        limits.instructions = 1_000_000
        #expect(
            run(
                "local t, n = {}, 0 for i = 1, 15000 do t['k' .. i] = i end for _ in pairs(t) do n = n + 1 end return { n = n }",
                "{}", limits: limits)
                == .events([#"{"n":15000}"#]))
        #expect(
            run("for k in pairs({ [pairs] = 1 }) do end", "{}")
                == .failed(line: 1, "pairs cannot order keys of type function"))
    }

    @Test
    func `an error has its line and a message`() {
        #expect(run("\n\nlocal x = event.a.b", "{}") == .failed(line: 3, "attempt to index a nil value (field 'a')"))
        #expect(run("local function f()\n error('no plan') end\n f()", "{}") == .failed(line: 2, "no plan"))
        #expect(run("error({ 1 })", "{}") == .failed(line: 1, "the script raised an error that is not text"))
        #expect(run("error('a\\nb', 0)", "{}") == .failed(line: 1, "a b"))
        #expect(
            run("event.name:upper()", #"{"name":null}"#)
                == .failed(line: 1, "attempt to index a userdata value (field 'name')"))
        #expect(run("return event +", "{}") == .failed(line: 1, "unexpected symbol near <eof>"))
        #expect(run("local a = 1\nx x", "{}") == .failed(line: 2, "syntax error near 'x'"))
        #expect(run("\u{1B}Lua", "{}") == .failed(line: 1, "unexpected symbol near '<\\27>'"))
        guard case .failed(let line, let message) = run("error(('é'):rep(1000))", "{}") else {
            Issue.record("no error")
            return
        }
        #expect(line == 1 && message.utf8.count == 254 && message.allSatisfy { $0 == "é" })
    }
}
