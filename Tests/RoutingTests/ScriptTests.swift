import Events
import Testing

@testable import Routing

/// What a script makes of an event.
private enum Made: Equatable {
    case events([String])
    case failed(line: Int?, String)
}

private func run(_ script: String, _ event: String, limits: Script.Limits = .init(), seed: UInt64 = 7) -> Made {
    do throws(Script.Failure) {
        return try call(Script(script, limits: limits), event, seed: seed)
    } catch {
        return .failed(line: error.line, error.message)
    }
}

private func call(_ script: Script, _ event: String, seed: UInt64 = 7) -> Made {
    var output = EventTexts()
    do throws(Script.Failure) {
        try script.call(event.utf8.span, seed: seed, into: &output)
    } catch {
        return .failed(line: error.line, error.message)
    }
    return .events((0..<output.count).map { String(decoding: output.bytes[output.range(of: $0)], as: UTF8.self) })
}

/// What an expression comes to, as a member of an event.
private func value(_ expression: String, _ event: String = "{}") -> String? {
    guard case .events(let events) = run("return { v = \(expression) }", event), let text = events.first else { return nil }
    return text.hasPrefix(#"{"v":"#) ? String(text.dropFirst(5).dropLast()) : text
}

@Suite("Scripts: values")
struct ScriptValueTests {
    @Test(
        "What a script does not touch is written as it came",
        arguments: [
            #"{"type":"track","z":1,"a":2,"m":{"y":[],"x":{},"w":[{}],"v":[[]]}}"#,
            #"{"n":[19.90,1e3,-0,0.10,12345678901234567890,1e400,9007199254740993,1.0,-5,1E+2]}"#,
            #"{"s":["caf\u00e9","café","\/","\ud83d\ude00","\u0000","tab\t","\"","\\",""]}"#,
            #"{"a\u0062":1,"\"":2,"":3,"é":4}"#,
            #"{"l":[null,true,false,null],"o":{"null":null}}"#,
        ])
    func untouched(_ event: String) {
        #expect(run("return event", event) == .events([event]))
        // Moved, and with a member beside it.
        #expect(
            run("event.zz = true return event", event) == .events([event.dropLast() + #","zz":true}"#]))
    }

    @Test("White space between values is not kept; of names that occur twice, the last counts")
    func compact() {
        #expect(run("return event", #"{ "a" : [ 1 , 2 ] , "b":{ } }"#) == .events([#"{"a":[1,2],"b":{}}"#]))
        #expect(run("return event", #"{"a":1,"b":2,"a":3,"\u0061":4}"#) == .events([#"{"b":2,"\u0061":4}"#]))
    }

    @Test("Members keep their order, new ones follow in the order of their names")
    func order() {
        #expect(
            run("event.b = nil event.d = 9 event.z2 = 1 event.a1 = 2 return event", #"{"z":1,"b":2,"d":3}"#)
                == .events([#"{"z":1,"d":9,"a1":2,"z2":1}"#]))
        #expect(run("event.a.x, event.c = 5, event.a return event", #"{"a":{"y":1,"x":2},"b":[]}"#)
            == .events([#"{"a":{"y":1,"x":5},"b":[],"c":{"y":1,"x":5}}"#]))
    }

    @Test(
        "Lua's values are JSON's",
        arguments: [
            ("1", "1"), ("1.0", "1.0"), ("0.1", "0.1"), ("1/3", "0.3333333333333333"), ("2^53", "9007199254740992.0"),
            ("1e300", "1e+300"), ("math.mininteger", "-9223372036854775808"), ("'a\\n\"\\\\\\1é'", #""a\n\"\\\u0001é""#),
            ("true", "true"), ("null", "null"), ("{}", "{}"), ("list()", "[]"), ("list({1})", "[1]"), ("{1,null,'x'}", #"[1,null,"x"]"#),
            ("{ b = 1, a = { 2 } }", #"{"a":[2],"b":1}"#), ("'2' + 1", "3"), ("-'1.5'", "-1.5"),
            ("-0.0", "-0.0"), ("10 // 3", "3"),
        ])
    func values(_ expression: String, _ json: String) {
        #expect(value(expression) == json)
    }

    @Test("null is a value of its own, a missing field is nil, and both can be told from an empty list")
    func absence() {
        let script = "return { event.a == null, event.b == nil, event.a == nil, #event.c == 0, type(event.a), tostring(null) }"
        let event = #"{"a":null,"c":[]}"#
        #expect(run("return { v = list { event.a == null, event.b == nil, event.a == nil, #event.c == 0, tostring(null) } }", event)
            == .events([#"{"v":[true,true,false,true,"null"]}"#]))
        #expect(run(script, event) == .failed(line: nil, "item 1 of what the script returned is a boolean, not an event"))
    }

    @Test("A list that the event brought stays one when it is emptied, and grows")
    func lists() {
        #expect(run("table.remove(event.l) return event", #"{"l":[1]}"#) == .events([#"{"l":[]}"#]))
        #expect(run("table.insert(event.l, 1, 'x') return event", #"{"l":[1.50,null]}"#) == .events([#"{"l":["x",1.5,null]}"#]))
        #expect(run("event.o.k = nil return event", #"{"o":{"k":1}}"#) == .events([#"{"o":{}}"#]))
    }

    @Test(
        "What cannot be part of an event is an error",
        arguments: [
            ("{ v = print or pairs }", "a function cannot be part of an event"),
            ("{ v = 1/0 }", "JSON has no number inf"), ("{ v = 0/0 }", "JSON has no number nan"),
            ("{ v = { 1, a = 2 } }", "a table with both names and numbers cannot be part of an event"),
            ("{ v = { [1] = 1, [3] = 3 } }", "a list with holes cannot be part of an event; use null"),
            ("{ [true] = 1 }", "a table with a key that is a boolean cannot be part of an event"),
            ("{ [1.5] = 1 }", "a table with a key that is a number cannot be part of an event"),
            ("{ v = '\\xff' }", "text that is not UTF-8 cannot be part of an event"),
            ("{ v = '\\u{D800}' }", "text that is not UTF-8 cannot be part of an event"),
            ("5", "the script returned a number, not an event"), ("null", "the script returned a null, not an event"),
            ("{ event, 1 }", "item 2 of what the script returned is a number, not an event"),
            ("{ { { } } }", "an event has to be an object, not a list"),
            ("{ event, {} }", "item 2 of what the script returned is empty, not an event"),
        ])
    func refused(_ expression: String, _ message: String) {
        #expect(run("return \(expression)", #"{"a":1}"#) == .failed(line: nil, message))
    }

    @Test("Nothing, one or several events")
    func several() {
        #expect(run("", "{}") == .events([]))
        #expect(run("return nil", "{}") == .events([]))
        #expect(run("return {}", #"{"a":1}"#) == .events([]))
        #expect(run("event.a = nil return event", #"{"a":1}"#) == .events([]))
        #expect(run("return list()", "{}") == .events([]))
        #expect(run("local l = {} for i = 1, 3 do l[i] = { n = i } end return l", "{}")
            == .events([#"{"n":1}"#, #"{"n":2}"#, #"{"n":3}"#]))
        #expect(run("local l = {} for i = 1, 1001 do l[i] = event end return l", "{}")
            == .failed(line: nil, "the script returned more than 1000 events"))
    }

    @Test("Events that were made of one do not share its messageId")
    func messageIDs() {
        #expect(
            run("return { event, event, { messageId = 'own' }, event }", #"{"messageId":"m\u00e9","a":1}"#)
                == .events([
                    #"{"messageId":"m\u00e9","a":1}"#, #"{"messageId":"m\u00e9:1","a":1}"#, #"{"messageId":"own"}"#,
                    #"{"messageId":"m\u00e9:3","a":1}"#,
                ]))
        // Copied, by its text and not by where it stands.
        #expect(
            run(
                "local l = {} for i = 1, 3 do l[i] = { messageId = event.messageId, n = i } end l[4] = { messageId = event.other } return l",
                #"{"messageId":"m\"1","other":"m\"2"}"#)
                == .events([
                    #"{"messageId":"m\"1","n":1}"#, #"{"messageId":"m\"1:1","n":2}"#, #"{"messageId":"m\"1:2","n":3}"#,
                    #"{"messageId":"m\"2"}"#,
                ]))
        #expect(
            run("return { event, { id = event.messageId, o = { messageId = event.messageId } } }", #"{"messageId":"m"}"#)
                == .events([#"{"messageId":"m"}"#, #"{"id":"m","o":{"messageId":"m"}}"#]))
    }

    @Test("A messageId that would get too long is cut, and still is another one for another id", arguments: ["a", "é"])
    func longIDs(_ character: String) {
        func ids(_ id: String) -> [String] {
            guard case .events(let events) = run("return { event, event, { messageId = event.messageId } }", #"{"messageId":"\#(id)"}"#)
            else { return [] }
            return events.map { String($0.dropFirst(14).dropLast(2)) }
        }
        let fits = String(repeating: character, count: 98)
        #expect(ids(fits) == [fits, fits + ":1", fits + ":2"])
        let first = ids(fits + "x")
        let second = ids(fits + "y")
        #expect(first == ids(fits + "x"))
        #expect(first.count == 3 && first[0] == fits + "x")
        #expect(Set(first + second).count == 6)
        #expect(first.dropFirst().allSatisfy { $0.unicodeScalars.count == 100 && $0.hasPrefix(fits.prefix(81) + "~") })
    }
}

@Suite("Scripts: bounds")
struct ScriptBoundTests {
    @Test(
        "What takes too long is stopped, also where Lua itself does not count",
        arguments: [
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
    func time(_ script: String) {
        guard case .failed(_, let message) = run(script, "{}") else {
            Issue.record("it came to an end")
            return
        }
        #expect(message == "stopped after 200000 instructions")
    }

    @Test(
        "What cannot be counted is stopped by its time",
        arguments: [
            "local a, b = ('x'):rep(200000), ('x'):rep(100000) .. ('x'):rep(100000) while true do local x = a == b end",
            "local a, b = ('\\0'):rep(200000), ('\\0'):rep(100000) .. ('\\0'):rep(100000) while true do local x = a <= b end",
            "local t = {} for i = 1, 20000 do t[i] = i end for i = 1, 20000 do t[i] = nil end while true do pairs(t) end",
            "local t = {} for i = 1, 20000 do t[i] = i end t.a = 1 while true do t.b = 1 t.b = nil t.c = 1 t.c = nil t.d = 1 t.d = nil end",
        ])
    func processorTime(_ script: String) {
        var limits = Script.Limits()
        limits.time = .milliseconds(5)
        limits.instructions = 100_000_000
        #expect(run(script, "{}", limits: limits) == .failed(line: 1, "stopped after 5 ms of processor time"))
    }

    @Test("What an event costs is bounded, whatever it is made of", arguments: [
        (#"{"p":{"# + Array(repeating: #""":0"#, count: 200_000).joined(separator: ",") + "}}", "return event"),
        (#"{"p":{"# + Array(repeating: #""\u0061":0"#, count: 200_000).joined(separator: ",") + "}}", "return event"),
        (#"{"p":{"# + (0..<3000).map { "\"\($0)\":0" }.joined(separator: ",") + "}}",
            "for k in pairs(event.p) do event.p[k] = nil end local t = {} for i = 1, 1000 do t[i] = event end return t"),
        (#"{"p":""# + String(repeating: #"\u0041"#, count: 5000) + "\"}",
            "event.p = 'x' local t = {} for i = 1, 1000 do t[i] = event end return t"),
    ])
    func hostileEvents(_ event: String, _ script: String) {
        #expect(run(script, event) == .failed(line: nil, "stopped after 200000 instructions"))
    }

    @Test("An event with one name thousands of times costs no more than one with as many names")
    func repeatedNames() {
        let members = Array(repeating: #""":0"#, count: 6400) + [#""x":1"#, #""":2"#, #""\u0078":3"#]
        #expect(run("return event", #"{"p":{"# + members.joined(separator: ",") + "}}") == .events([#"{"p":{"":2,"\u0078":3}}"#]))
    }

    @Test(
        "What takes too much memory is stopped",
        arguments: [
            "return { v = ('x'):rep(1e9) }", "return { v = ('x'):rep(1e6) }", "local t = {} for i = 1, 1e9 do t[i] = {} end",
            "local s = 'x' while true do s = s .. s end", "local t = {} for i = 1, 60 do t[i] = ('x'):rep(200000 + i) end",
            "return { v = ('x'):rep(100000):gsub('x', ('y'):rep(1000)) }", "return table.unpack({}, 1, 1e5)",
        ])
    func memory(_ script: String) {
        guard case .failed(_, let message) = run(script, "{}") else {
            Issue.record("it came to an end")
            return
        }
        #expect(
            message.hasPrefix("needs more than 8388608 bytes of memory") || message.contains("stopped after")
                || message.contains("too many results"))
    }

    @Test("Empty text repeated for ever is empty text, at once")
    func emptyRepetition() {
        #expect(value("(''):rep(1 << 62)") == "\"\"")
        #expect(value("(''):rep(1 << 62, '')") == "\"\"")
        #expect(value("string.rep(7, 3) .. string.rep('a', 2, 0) .. string.rep('a', 0)") == "\"777a0a\"")
    }

    @Test("Depth and size of what comes back are bounded")
    func output() {
        let deep = "what the script returned is nested deeper than 128 levels, or holds itself"
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

    @Test("A script that failed works for the next event")
    func recovery() throws {
        let script = try Script("if event.bad then while true do event[#event + 1] = {} end end return event", limits: .init())
        for _ in 0..<20 {
            guard case .failed = call(script, #"{"bad":true}"#) else {
                Issue.record("it came to an end")
                return
            }
            #expect(call(script, #"{"a":1}"#) == .events([#"{"a":1}"#]))
        }
    }

    @Test("Nothing that a script does is seen by the next event")
    func leaks() throws {
        let script = try Script(
            "n = (n or 0) + 1 if type(string.extra) ~= 'nil' then n = 100 end event.n = n return event", limits: .init())
        for _ in 0..<3 { #expect(call(script, "{}") == .events([#"{"n":1}"#])) }
    }

    @Test(
        "What is not listed is not there",
        arguments: [
            "os", "io", "debug", "package", "require", "load", "loadstring", "loadfile", "dofile", "print", "collectgarbage",
            "coroutine", "getmetatable", "setmetatable", "rawset", "rawget", "pcall", "xpcall", "next", "_G",
            "string.dump", "string.pack", "table.move", "math.randomseed", "warn",
        ])
    func absent(_ name: String) {
        #expect(value("type(\(name))") == "\"nil\"")
    }

    @Test(
        "Libraries cannot be changed",
        arguments: ["string.upper = nil", "math.x = 1", "table.insert = print", "utf8.char = 1", "string.x = function() end"])
    func libraries(_ statement: String) {
        #expect(run("\(statement) return event", "{}") == .failed(line: 1, "a library cannot be changed"))
    }

    @Test("The same event gives the same bytes: pairs has an order, random numbers come from the position")
    func deterministic() throws {
        let names = (0..<50).map { "k\($0 * 7919 % 50)" }
        let event = "{" + names.map { "\"\($0)\":1" }.joined(separator: ",") + "}"
        let script = "local l = {} for k in pairs(event) do l[#l + 1] = k end return { l = l }"
        let sorted = names.sorted().map { "\"\($0)\"" }.joined(separator: ",")
        #expect(run(script, event) == .events(["{\"l\":[\(sorted)]}"]))
        #expect(value("(function() local s = '' for k, v in pairs({ b = 1, 'x', a = 2, 'y' }) do s = s .. k .. v end return s end)()")
            == "\"1x2ya2b1\"")
        let random = "return { v = { math.random(1000000), math.random() } }"
        let first = run(random, "{}", seed: 5)
        #expect(run(random, "{}", seed: 5) == first)
        #expect(run(random, "{}", seed: 6) != first)
        let again = try Script(random, limits: .init())
        #expect(call(again, "{}", seed: 5) == first)
        #expect(call(again, "{}", seed: 5) == first)
        #expect(value("tostring({}) .. tostring(pairs) .. string.format('%s %5s', {}, null)") == "\"tablefunctiontable  null\"")
        #expect(run("return { v = string.format('%p', {}) }", "{}") == .failed(line: 1, "%p is not known here"))
        #expect(run("return { v = string.format('\\0%s %p', {}, {}) }", "{}") == .failed(line: 1, "%p is not known here"))
        #expect(value("string.format('\\0%s%%%5s%s', {}, print, null)") == "\"\\u0000table%  nilnull\"")
        #expect(value("(function() local s = '' for k, v in pairs({ [true] = 1, [false] = 2, [null] = 3, a = 4, 5, [1.5] = 6, [-1] = 7 }) do s = s .. v end return s end)()")
            == "\"7564213\"")
        #expect(run("for k in pairs({ [pairs] = 1 }) do end", "{}") == .failed(line: 1, "pairs has no order for keys that are a function"))
    }

    @Test("Errors name the line and say what happened")
    func errors() {
        #expect(run("\n\nlocal x = event.a.b", "{}") == .failed(line: 3, "attempt to index a nil value (field 'a')"))
        #expect(run("local function f()\n error('no plan') end\n f()", "{}") == .failed(line: 2, "no plan"))
        #expect(run("error({ 1 })", "{}") == .failed(line: 1, "an error that is not text"))
        #expect(run("error('a\\nb', 0)", "{}") == .failed(line: 1, "a b"))
        #expect(run("event.name:upper()", #"{"name":null}"#)
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

@Suite("Scripts: patterns")
struct ScriptPatternTests {
    @Test(
        "Patterns mean what Lua's manual says",
        arguments: [
            ("('hello world'):find('o w')", "5"), ("('a.b'):find('.', 1, true)", "2"), ("('hello'):find('l', -2)", "4"),
            ("('abc'):find('', 10)", "nil"), ("('abc'):find('', 4)", "4"), ("('abc'):find('b', -100)", "2"),
            ("('key = value'):match('(%w+)%s*=%s*(%w+)')", "\"key\""), ("('2026-01-31'):match('%d+-(%d+)')", "\"01\""),
            ("('  trim '):match('^%s*(.-)%s*$')", "\"trim\""), ("('THE (quick) fox'):find('%((%a+)%)')", "5"),
            ("('f(a(b)c)d'):match('%b()')", "\"(a(b)c)\""), ("('THE (quick) fox'):gsub('%f[%a]%a+', 'X')", "\"X (X) X\""),
            ("('abc'):gsub('', '-')", "\"-a-b-c-\""), ("('hello'):gsub('l', 'L', 1)", "\"heLlo\""),
            ("('$name is'):gsub('%$(%w+)', { name = 'Ada' })", "\"Ada is\""),
            ("('a b'):gsub('%w', function(c) if c == 'a' then return 'x' end end)", "\"x b\""),
            ("('x y'):gsub('(%w) (%w)', '%2 %1 %0 %%')", "\"y x x y %\""), ("('abc'):gsub('^a', 'x')", "\"xbc\""),
            ("('aaa'):gsub('^a', 'x')", "\"xaa\""), ("('a]b'):find('[]]')", "2"), ("('a-b'):find('[a%-]', 2)", "2"),
            ("('x^y'):find('[%^]')", "2"), ("('abc123'):match('[^%d]+')", "\"abc\""), ("('AbC'):gsub('%u', '')", "\"b\""),
            ("('aXbX'):match('.-X')", "\"aX\""), ("('aab'):match('a?a?a?b')", "\"aab\""), ("('\"q\" \\'r\\''):match([[([\"'])(.-)%1]])", "\"\\\"\""),
            ("('hello'):match('()ll()')", "3"), ("('a$'):find('a$')", "nil"), ("('x1'):match('%x+')", "\"1\""),
            ("('abc'):match('x*$')", "\"\""), ("('\\0a'):find('%z')", "nil"), ("('a\\0b'):find('\\0')", "2"),
        ])
    func patterns(_ expression: String, _ result: String) {
        #expect(value("(\(expression)) == nil and 'nil' or (\(expression))")?.replacing("\"nil\"", with: "nil") == result)
    }

    @Test("gmatch gives every match once, empty ones too")
    func all() {
        func matches(_ text: String, _ pattern: String) -> String? {
            value("(function() local l = list() for a, b in ('\(text)'):gmatch('\(pattern)') do l[#l + 1] = a .. (b or '') end return l end)()")
        }
        #expect(matches("one two", "%a+") == #"["one","two"]"#)
        #expect(matches("k=v, a=b", "(%w)=(%w)") == #"["kv","ab"]"#)
        #expect(matches("abc", "%d*") == #"["","","",""]"#)
        #expect(matches("", ".") == "[]")
        func rest(_ start: String) -> String? {
            value("(function() local l = list() for a in ('abc'):gmatch('%a*', \(start)) do l[#l + 1] = a end return l end)()")
        }
        #expect(rest("2") == #"["bc"]"#)
        #expect(rest("-1") == #"["c"]"#)
        #expect(rest("4") == #"[""]"#)
        #expect(rest("5") == "[]")
    }

    @Test(
        "A pattern that means nothing is an error",
        arguments: [
            ("%", "malformed pattern (ends with '%')"), ("[a", "malformed pattern (missing ']')"), ("(", "unfinished capture"),
            (")", "invalid pattern capture"), ("%1", "invalid capture index %1"), ("%b", "malformed pattern (missing arguments to '%b')"),
            ("%f", "missing '[' after '%f' in pattern"), ("[%", "malformed pattern (missing ']')"), ("[]", "malformed pattern (missing ']')"),
        ])
    func malformed(_ pattern: String, _ message: String) {
        #expect(run("return { v = ('abc'):match('\(pattern)') }", "{}") == .failed(line: 1, message))
        #expect(
            run("return { v = ('abc'):match('\(String(repeating: "(", count: 33))') }", "{}")
                == .failed(line: 1, "too many captures"))
    }
}
