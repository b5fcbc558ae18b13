import Events
import Testing

@testable import Routing

/// The result of a script for one event.
@Suite("Scripts: patterns")
struct ScriptPatternTests: ScriptRun {
    @Test(arguments: [
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
        ("('aXbX'):match('.-X')", "\"aX\""), ("('aab'):match('a?a?a?b')", "\"aab\""),
        ("('\"q\" \\'r\\''):match([[([\"'])(.-)%1]])", "\"\\\"\""),
        ("('hello'):match('()ll()')", "3"), ("('a$'):find('a$')", "nil"), ("('x1'):match('%x+')", "\"1\""),
        ("('abc'):match('x*$')", "\"\""), ("('\\0a'):find('%z')", "nil"), ("('a\\0b'):find('\\0')", "2"),
    ])
    func `patterns match as the Lua manual specifies`(_ expression: String, _ result: String) {
        #expect(
            value("(\(expression)) == nil and 'nil' or (\(expression))")?.replacing("\"nil\"", with: "nil") == result)
    }

    @Test
    func `gmatch gives every match once, also empty ones`() {
        func matches(_ text: String, _ pattern: String) -> String? {
            value(
                "(function() local l = list() for a, b in ('\(text)'):gmatch('\(pattern)') do l[#l + 1] = a .. (b or '') end return l end)()"
            )
        }
        #expect(matches("one two", "%a+") == #"["one","two"]"#)
        #expect(matches("k=v, a=b", "(%w)=(%w)") == #"["kv","ab"]"#)
        #expect(matches("abc", "%d*") == #"["","","",""]"#)
        #expect(matches("", ".") == "[]")
        func rest(_ start: String) -> String? {
            value(
                "(function() local l = list() for a in ('abc'):gmatch('%a*', \(start)) do l[#l + 1] = a end return l end)()"
            )
        }
        #expect(rest("2") == #"["bc"]"#)
        #expect(rest("-1") == #"["c"]"#)
        #expect(rest("4") == #"[""]"#)
        #expect(rest("5") == "[]")
    }

    @Test(arguments: [
        ("%", "malformed pattern (ends with '%')"), ("[a", "malformed pattern (missing ']')"),
        ("(", "unfinished capture"),
        (")", "invalid pattern capture"), ("%1", "invalid capture index %1"),
        ("%b", "malformed pattern (missing arguments to '%b')"),
        ("%f", "missing '[' after '%f' in pattern"), ("[%", "malformed pattern (missing ']')"),
        ("[]", "malformed pattern (missing ']')"),
    ])
    func `a malformed pattern is an error`(_ pattern: String, _ message: String) {
        #expect(run("return { v = ('abc'):match('\(pattern)') }", "{}") == .failed(line: 1, message))
        #expect(
            run("return { v = ('abc'):match('\(String(repeating: "(", count: 33))') }", "{}")
                == .failed(line: 1, "too many captures"))
    }
}
