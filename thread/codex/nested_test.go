package codex_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/codex"
)

// calls returns the calls of a rollout inside others, with what is known of each.
func calls(t *testing.T, s *script) (list []string) {
	t.Helper()
	home := t.TempDir()
	put(t, home, rolloutFile, s.String())
	for _, c := range threadtest.Calls(t, threadtest.Open(t, codex.Driver(), home), parentID) {
		if c.Within == "" {
			continue
		}
		text := c.Within + " " + c.Name + " " + c.Input
		if c.Exit != nil {
			text += fmt.Sprint(" exit ", *c.Exit)
		}
		for word, is := range map[string]bool{" failed": c.Failed, " inferred": c.Inferred, " in " + c.Dir: c.Dir != "",
			" by " + c.Agent: c.Agent != ""} {
			if is {
				text += word
			}
		}
		list = append(list, text)
	}
	return list
}

func begun() *script { return start("2026-02-22T20:48:50Z").meta(parentID, nil).begin("t1").user("go") }

// TestScripts reads scripts whose calls have no records: what of their inputs is literal
// is known, and the rest is inferred.
func TestScripts(t *testing.T) {
	const patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"
	for _, tt := range []struct{ js, want string }{
		{"await tools.exec_command({cmd: \"git status\"})",
			`exec_command {"cmd":"git status"}`},
		{"tools.exec_command({'cmd': 'a\\'b\\x41\\u0042\\u{43}\\n', n: [1, -2.5, true, null,],})",
			`exec_command {"cmd":"a'bABC\n","n":[1,-2.5,true,null]}`},
		{"tools.exec_command({cmd: `a\nb`, workdir: \"/w\"})",
			`exec_command {"cmd":"a\nb","workdir":"/w"} in /w`},
		{"tools.exec_command({cmd: 'a', workdir: 'sub'})",
			`exec_command {"cmd":"a","workdir":"sub"} in /home/u/project/sub`},
		{"tools.apply_patch(`" + patch + "`)",
			"apply_patch " + patch},
		{"const p = `" + patch + "`;\nconst r = await tools.apply_patch(p);",
			"apply_patch " + patch},
		{"const p = `" + patch + "`\nawait tools.apply_patch(p)",
			"apply_patch " + patch},
		{"tools.apply_patch(['*** Begin Patch', \"*** End Patch\"].join('\\n'))",
			"apply_patch *** Begin Patch\n*** End Patch"},
		{"tools.apply_patch('a' + /* of */ \"b\" // c\n + `c`)",
			"apply_patch abc"},
		{"tools.apply_patch(String.raw`a\\n`)",
			`apply_patch a\n`},
		{"const cmd = 'ls'; tools.exec_command({cmd})",
			`exec_command {"cmd":"ls"}`},
		{"const d = 'src'; tools.exec_command({cmd: `ls ${d}`})",
			`exec_command {"cmd":"ls src"}`},
		{"tools[\"exec_command\"]({cmd: 'ls'})",
			`exec_command {"cmd":"ls"}`},
		{"tools.list()",
			"list {}"},
		{"for (const f of files) await tools.exec_command({cmd: `cat ${f.name}`, n: 1})",
			`exec_command {"cmd":"cat ${f.name}","n":1} inferred`},
		{"tools.exec_command({cmd: build(')', 1), n: 1})",
			`exec_command {"cmd":"${build(')', 1)}","n":1} inferred`},
		{"tools.exec_command({cmd: 'a', timeout: Infinity})",
			`exec_command {"cmd":"a","timeout":"${Infinity}"} inferred`},
		{"tools.exec_command({...options, cmd: 'a'})",
			`exec_command {"cmd":"a"} inferred`},
		{"tools.apply_patch(make())",
			"apply_patch ${make()} inferred"},
		{"tools.apply_patch('a' + b)",
			"apply_patch ${'a' + b} inferred"},
		{"tools.apply_patch(p.trim())",
			"apply_patch ${p.trim()} inferred"},
		{"tools.exec_command({cmd: 'open",
			""},
		{"text(`a ${(await tools.a()).b} \\` ${f({c: `${tools.d({e: 1})}`})} tools.none()`); tools.f()",
			"a {}, d {\"e\":1}, f {}"},
		{"const t = `${await tools.a()}`; tools.b({c: `${tools.d()}`})",
			"a {}, b {\"c\":\"${tools.d()}\"} inferred, d {}"},
		{"text('tools.exec_command({cmd: 1})'); // tools.list()",
			""},
		{"mytools.list(); tools.list; toolset(tools)",
			""},
		{"const r = await tools.a({b: await tools.c({d: 1})})",
			"a {\"b\":\"${await tools.c({d: 1})}\"} inferred, c {\"d\":1}"},
		{"if (no) tools.a(); tools.b()",
			"a {} inferred, b {}"},
		{"for (const a of x) { tools.a() }\ntools.b(); const f = () => tools.c();\nconst d = tools.d()",
			"a {} inferred, b {}, c {} inferred, d {}"},
		{"function f() { return tools.a() }\nclass X { m() { tools.b() } }\ntools.c()",
			"a {} inferred, b {} inferred, c {}"},
		{"x && tools.a(); y ? tools.b() : tools.c(); z ?? tools.d(); tools?.e(); tools.f()",
			"a {} inferred, b {} inferred, c {} inferred, d {} inferred, e {} inferred, f {}"},
		{"text(`${x ? tools.a() : 1}`, tools.b()); tools.c(); if (x) exit(); tools.d()",
			"a {} inferred, b {}, c {}, d {} inferred"},
		{"await Promise.all([tools.a(), f(tools.b())]); await Promise.all([1].map(x => tools.c()))",
			"a {}, b {}, c {} inferred"},
		{"tools.z(); try { tools.a() } catch (e) { tools.b() } tools.c()",
			"z {}, a {} inferred, b {} inferred, c {}"},
		{"tools.a(); tools.b().catch(text); tools.c()",
			"a {} inferred, b {} inferred, c {}"},
		{"await Promise.allSettled([tools.a()])",
			"a {} inferred"},
		{"const a = 'x'; { const a = y(); tools.b({a}) } tools.c({a})",
			`b {"a":"${a}"} inferred, c {"a":"x"}`},
		{"let a = 'x'; tools.b({a}); const c = {d: 'e'}; c.d = 'f'; tools.g(c)",
			`b {"a":"x"} inferred, g {"d":"e"} inferred`},
		{"const q = s.split(/'[/'\\/]/); text('tools.no()'); const r = 4 / 2; tools.a() // '",
			"a {}"},
		{"m(/\\/\\*/); tools.a(); x.replace(/`/g, ''); tools.b(\"'\")",
			"a {}, b '"},
		{"tools.a(String.raw`b \\` tools.c() ${1}`)",
			"a b \\` tools.c() ${1} inferred"},
		{"tools.a('\\ud83d\\ude00'); tools.b('\\ud83d')",
			"a \U0001f600, b  inferred"},
	} {
		got := calls(t, begun().exec("o", tt.js).printed("o", "Script completed", ""))
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], "o ")
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%s: got %q, want %q", tt.js, text, tt.want)
		}
	}
}

// TestScriptEnds checks which calls of a script are known to be made.
func TestScriptEnds(t *testing.T) {
	const js = "tools.exec_command({cmd: 'ls'})"
	list := obj{"type": "CommandExecution", "id": "exec-1", "command": []string{"ls"}, "cwd": "/w", "exit_code": 0}
	for name, tt := range map[string]struct {
		script *script
		want   []string
	}{
		"no result": {begun().exec("o", js), nil},
		"a result": {begun().exec("o", js).printed("o", "Script completed", ""),
			[]string{`o exec_command {"cmd":"ls"}`}},
		"an abort": {begun().exec("o", js).printed("o", "aborted by user after 0.1s", ""),
			[]string{`o exec_command {"cmd":"ls"} inferred`}},
		"a failure": {begun().exec("o", js).printed("o", "Script failed", ""),
			[]string{`o exec_command {"cmd":"ls"} inferred`}},
		"not the end": {begun().exec("o", js).printed("o", "Script running", ""),
			[]string{`o exec_command {"cmd":"ls"} inferred`}},
		"a record": {begun().exec("o", js).completed(list).printed("o", "Script completed", ""),
			[]string{`o exec_command {"cmd":["ls"]} exit 0 in /w`}},
		"records of another script": {begun().exec("o", js).completed(list).printed("o", "Script completed", "").
			exec("p", js).printed("p", "Script completed", ""),
			[]string{`o exec_command {"cmd":["ls"]} exit 0 in /w`, `p exec_command {"cmd":"ls"} inferred`}},
		"a record after the result": {begun().exec("o", "").printed("o", "Script running", "").completed(list),
			[]string{`o exec_command {"cmd":["ls"]} exit 0 in /w`}},
		"two scripts": {begun().exec("o", "").exec("p", "").printed("o", "Script completed", "").completed(list),
			[]string{`p exec_command {"cmd":["ls"]} exit 0 in /w`}},
		"an option like that of a shell": {begun().exec("o", "").completed(obj{"type": "CommandExecution",
			"id": "exec-1", "command": []string{"grep", "-c", "TODO"}, "status": "completed", "exit_code": 0}),
			[]string{`o exec_command {"cmd":["grep","-c","TODO"]} exit 0`}},
		"a command of a shell": {begun().exec("o", "").completed(obj{"type": "CommandExecution",
			"id": "exec-1", "command": []string{"/bin/bash", "-lc", "ls"}, "status": "completed", "exit_code": 0}),
			[]string{`o exec_command {"cmd":"ls"} exit 0`}},
		"a rollout with all items": {start("2026-02-22T20:48:50Z").meta(parentID, obj{"cli_version": "0.171.0",
			"history_mode": "paginated"}).begin("t1").exec("o", "if (no) "+js).printed("o", "Script completed", "").
			exec("p", js).completed(list).
			printed("p", "Script completed", ""), []string{`p exec_command {"cmd":["ls"]} exit 0 in /w`}},
		"a rollout without items": {start("2026-02-22T20:48:50Z").meta(parentID, obj{"cli_version": "0.171.0",
			"history_mode": "legacy"}).begin("t1").exec("o", js).printed("o", "Script completed", ""),
			[]string{`o exec_command {"cmd":"ls"}`}},
		"a record in progress, then another": {begun().exec("o", "").completed(obj{"type": "CommandExecution",
			"id": "exec-1", "command": []string{"ls"}, "status": "inProgress"}).completed(list).
			printed("o", "Script completed", ""), []string{`o exec_command {"cmd":["ls"]} exit 0 in /w`}},
		"two records of one call": {begun().exec("o", "").completed(list).completed(list).
			printed("o", "Script completed", ""), []string{`o exec_command {"cmd":["ls"]} exit 0 in /w`}},
		"a subagent": {begun().exec("o", "").completed(obj{"type": "SubAgentActivity", "id": "exec-1", "kind": "started",
			"agent_thread_id": doneID, "agent_path": "/root/a"}), []string{"o spawn_agent  by " + doneID}},
	} {
		if got := calls(t, tt.script); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestCompactions checks for which compactions a request is missing.
func TestCompactions(t *testing.T) {
	for name, tt := range map[string]struct {
		compact func(*script) *script
		want    thread.Completeness
	}{
		"with a summary": {func(s *script) *script {
			return s.add("compacted", obj{"message": "It was long."})
		}, thread.Exact},
		"with a summary in the second record": {func(s *script) *script {
			return s.event("context_compacted", nil).add("compacted", obj{"message": "It was long."})
		}, thread.Exact},
		"by the server": {func(s *script) *script {
			return s.add("compacted", obj{"message": ""}).event("context_compacted", nil)
		}, thread.LowerBound},
		"by the server, with its usage": {func(s *script) *script {
			return s.record("c", 900, 0, 9).add("compacted", obj{"message": ""}).event("context_compacted", nil)
		}, thread.Exact},
		"as an item": {func(s *script) *script {
			return s.add("response_item", obj{"type": "compaction", "encrypted_content": "x"})
		}, thread.LowerBound},
	} {
		s := tt.compact(begun().agent("Well.").record("a", 100, 0, 5))
		s.agent("Done.").record("b", 10, 0, 1).end("t1", "Done.")
		th, _ := load(t, rolloutFile, s.String())
		if th.Usage.Completeness != tt.want {
			t.Errorf("%s: got %s (%s), want %s", name, th.Usage.Completeness, th.Usage.Reason, tt.want)
		}
	}
}

// TestTier checks that the tier of the service belongs to the requests after it.
func TestTier(t *testing.T) {
	tier := func(s *script, name any) *script {
		return s.event("thread_settings_applied", obj{"thread_settings": obj{"service_tier": name}})
	}
	s := begun().agent("a").record("a", 1, 0, 1)
	s = tier(s, "priority").agent("b").record("b", 10, 0, 1)
	s.event("thread_settings_applied", obj{"thread_settings": obj{}})
	s = tier(s.agent("c").record("c", 100, 0, 1), nil).agent("d").record("d", 1000, 0, 1)
	th, _ := load(t, rolloutFile, s.end("t1", "d").String())
	got := map[string]int64{}
	for _, m := range th.Usage.Models {
		got[m.Model] = m.Input
	}
	if got["gpt-5"] != 1001 || got["gpt-5-priority"] != 110 || len(got) != 2 {
		t.Errorf("got input by model %v", got)
	}
}

// FuzzScript reads any text as a script.
func FuzzScript(f *testing.F) {
	for _, js := range []string{"const a = [`${tools.b({c: \"\\u{41}\\x4",
		"tools['a']([1, ['b', {c}].join(\"\")]) // d", "tools.a({...b, 'c':"} {
		f.Add(js)
	}
	f.Fuzz(func(t *testing.T, js string) {
		for _, c := range calls(t, begun().exec("o", js).printed("o", "Script completed", "")) {
			if !strings.HasPrefix(c, "o ") {
				t.Errorf("%q: got call %q", js, c)
			}
		}
	})
}

// TestHostileScripts reads long scripts whose parts are nested or are not closed. One that is
// read again at each level does not end before the test's time limit.
func TestHostileScripts(t *testing.T) {
	for _, part := range []string{"const a = (", "`${", "tools.a([",
		"{a:", "[", "tools.a({b: `${", "'", "/*", "\\u{", "const a = b + ("} {
		calls(t, begun().exec("o", strings.Repeat(part, 1<<17)).printed("o", "Script completed", ""))
	}
	text := "'" + strings.Repeat("x", 100_000) + "'"
	for range 15 {
		text = "`${ " + text + " +z}`"
	}
	got := calls(t, begun().exec("o", "tools.a("+text+" +z)").printed("o", "Script completed", ""))
	if len(got) != 1 || !strings.Contains(got[0], " inferred") {
		t.Errorf("got %d calls, want one that is inferred", len(got))
	}
}
