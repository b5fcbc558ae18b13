import Events
import Testing

@testable import Routing

/// The result of a script for one event.
@Suite("Scripts: values")
struct ScriptValueTests: ScriptRun {
    @Test(arguments: [
        #"{"type":"track","z":1,"a":2,"m":{"y":[],"x":{},"w":[{}],"v":[[]]}}"#,
        #"{"n":[19.90,1e3,-0,0.10,12345678901234567890,1e400,9007199254740993,1.0,-5,1E+2]}"#,
        #"{"s":["caf\u00e9","café","\/","\ud83d\ude00","\u0000","tab\t","\"","\\",""]}"#,
        #"{"a\u0062":1,"\"":2,"":3,"é":4}"#,
        #"{"l":[null,true,false,null],"o":{"null":null}}"#,
    ])
    func `values that a script does not change keep their bytes`(_ event: String) {
        #expect(run("return event", event) == .events([event]))
        // Also when a member is added.
        #expect(
            run("event.zz = true return event", event) == .events([event.dropLast() + #","zz":true}"#]))
    }

    @Test
    func `white space between values is removed, and the last duplicate of a name counts`() {
        #expect(run("return event", #"{ "a" : [ 1 , 2 ] , "b":{ } }"#) == .events([#"{"a":[1,2],"b":{}}"#]))
        #expect(run("return event", #"{"a":1,"b":2,"a":3,"\u0061":4}"#) == .events([#"{"b":2,"\u0061":4}"#]))
    }

    @Test
    func `members keep their order, and new ones follow in the order of their names`() {
        #expect(
            run("event.b = nil event.d = 9 event.z2 = 1 event.a1 = 2 return event", #"{"z":1,"b":2,"d":3}"#)
                == .events([#"{"z":1,"d":9,"a1":2,"z2":1}"#]))
        #expect(
            run("event.a.x, event.c = 5, event.a return event", #"{"a":{"y":1,"x":2},"b":[]}"#)
                == .events([#"{"a":{"y":1,"x":5},"b":[],"c":{"y":1,"x":5}}"#]))
    }

    @Test(arguments: [
        ("1", "1"), ("1.0", "1.0"), ("0.1", "0.1"), ("1/3", "0.3333333333333333"), ("2^53", "9007199254740992.0"),
        ("1e300", "1e+300"), ("math.mininteger", "-9223372036854775808"), ("'a\\n\"\\\\\\1é'", #""a\n\"\\\u0001é""#),
        ("true", "true"), ("null", "null"), ("{}", "{}"), ("list()", "[]"), ("list({1})", "[1]"),
        ("{1,null,'x'}", #"[1,null,"x"]"#),
        ("{ b = 1, a = { 2 } }", #"{"a":[2],"b":1}"#), ("'2' + 1", "3"), ("-'1.5'", "-1.5"),
        ("-0.0", "-0.0"), ("10 // 3", "3"),
    ])
    func `Lua values are converted to JSON values`(_ expression: String, _ json: String) {
        #expect(value(expression) == json)
    }

    @Test
    func `null, a missing field and an empty list are different values`() {
        let script =
            "return { event.a == null, event.b == nil, event.a == nil, #event.c == 0, type(event.a), tostring(null) }"
        let event = #"{"a":null,"c":[]}"#
        #expect(
            run(
                "return { v = list { event.a == null, event.b == nil, event.a == nil, #event.c == 0, tostring(null) } }",
                event)
                == .events([#"{"v":[true,true,false,true,"null"]}"#]))
        #expect(run(script, event) == .failed(line: nil, "item 1 of the returned list is a boolean, not an event"))
    }

    @Test
    func `a list of the event stays a list when it is emptied, and can grow`() {
        #expect(run("table.remove(event.l) return event", #"{"l":[1]}"#) == .events([#"{"l":[]}"#]))
        #expect(
            run("table.insert(event.l, 1, 'x') return event", #"{"l":[1.50,null]}"#)
                == .events([#"{"l":["x",1.5,null]}"#]))
        #expect(run("event.o.k = nil return event", #"{"o":{"k":1}}"#) == .events([#"{"o":{}}"#]))
    }

    @Test(arguments: [
        ("{ v = print or pairs }", "a function cannot be part of an event"),
        ("{ v = 1/0 }", "JSON has no number inf"), ("{ v = 0/0 }", "JSON has no number nan"),
        ("{ v = { 1, a = 2 } }", "a table with both names and numbers cannot be part of an event"),
        ("{ v = { [1] = 1, [3] = 3 } }", "a list with holes cannot be part of an event; use null"),
        ("{ [true] = 1 }", "a table with a key that is a boolean cannot be part of an event"),
        ("{ [1.5] = 1 }", "a table with a key that is a number cannot be part of an event"),
        ("{ v = '\\xff' }", "text that is not UTF-8 cannot be part of an event"),
        ("{ v = '\\u{D800}' }", "text that is not UTF-8 cannot be part of an event"),
        ("5", "the script returned a number, not an event"), ("null", "the script returned a null, not an event"),
        ("{ event, 1 }", "item 2 of the returned list is a number, not an event"),
        ("{ { { } } }", "an event must be an object, not a list"),
        ("{ event, {} }", "item 2 of the returned list is empty, not an event"),
    ])
    func `a value that cannot be part of an event is an error`(_ expression: String, _ message: String) {
        #expect(run("return \(expression)", #"{"a":1}"#) == .failed(line: nil, message))
    }

    @Test
    func `a script can return no event, one or several`() {
        #expect(run("", "{}") == .events([]))
        #expect(run("return nil", "{}") == .events([]))
        #expect(run("return {}", #"{"a":1}"#) == .events([]))
        #expect(run("event.a = nil return event", #"{"a":1}"#) == .events([]))
        #expect(run("return list()", "{}") == .events([]))
        #expect(
            run("local l = {} for i = 1, 3 do l[i] = { n = i } end return l", "{}")
                == .events([#"{"n":1}"#, #"{"n":2}"#, #"{"n":3}"#]))
        #expect(
            run("local l = {} for i = 1, 1001 do l[i] = event end return l", "{}")
                == .failed(line: nil, "the script returned more than 1000 events"))
    }

    @Test
    func `events made from one event have different messageIds`() {
        #expect(
            run("return { event, event, { messageId = 'own' }, event }", #"{"messageId":"m\u00e9","a":1}"#)
                == .events([
                    #"{"messageId":"m\u00e9","a":1}"#, #"{"messageId":"m\u00e9:1","a":1}"#, #"{"messageId":"own"}"#,
                    #"{"messageId":"m\u00e9:3","a":1}"#,
                ]))
        // A copied messageId is recognized by its text, not by its place.
        #expect(
            run(
                "local l = {} for i = 1, 3 do l[i] = { messageId = event.messageId, n = i } end l[4] = { messageId = event.other } return l",
                #"{"messageId":"m\"1","other":"m\"2"}"#)
                == .events([
                    #"{"messageId":"m\"1","n":1}"#, #"{"messageId":"m\"1:1","n":2}"#, #"{"messageId":"m\"1:2","n":3}"#,
                    #"{"messageId":"m\"2"}"#,
                ]))
        #expect(
            run(
                "return { event, { id = event.messageId, o = { messageId = event.messageId } } }", #"{"messageId":"m"}"#
            )
                == .events([#"{"messageId":"m"}"#, #"{"id":"m","o":{"messageId":"m"}}"#]))
    }

    @Test(arguments: ["a", "é"])
    func `a messageId that would be too long is shortened and stays unique`(_ character: String) {
        func ids(_ id: String) -> [String] {
            guard
                case .events(let events) = run(
                    "return { event, event, { messageId = event.messageId } }", #"{"messageId":"\#(id)"}"#)
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
