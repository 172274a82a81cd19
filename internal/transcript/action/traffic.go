package action

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/thread"
)

// Traffic is what a call does with artifacts, as far as its name or its command shows.
type Traffic struct {
	Publishes bool // it publishes one
	Observes  bool // it waits for some, reads them, or starts an agent, so that it may print what others published
}

// The tools of the MCP server, which programs give a prefix.
var (
	publishingTools = []string{"artifact_publish", "write_artifact", "stage_put", "session_add_output"}
	observingTools  = []string{"artifact_get", "artifact_list", "artifact_search", "artifact_wait", "find_latest_output",
		"read_artifact", "session_find", "stage_next", "thread_read"}
)

// TrafficOf returns what a call does with artifacts.
func TrafficOf(c thread.Call) Traffic {
	isTool := func(tool string) bool { return strings.HasSuffix(c.Name, tool) }
	t := Traffic{Publishes: slices.ContainsFunc(publishingTools, isTool),
		Observes: c.Agent != "" || slices.ContainsFunc(observingTools, isTool)}
	t.script(Inspect(c).Command, maxScripts)
	return t
}

// maxScripts is how many scripts are followed that are an argument of another one.
const maxScripts = 4

// script adds what the commands of a shell script do.
func (t *Traffic) script(text string, depth int) {
	if depth == 0 || text == "" {
		return
	}
	for _, words := range commandsOf(text) {
		t.command(words, depth)
	}
}

// Words that may be before the program of a command, and the shells among them.
var (
	shells   = []string{"sh", "bash", "zsh", "dash", "eval"}
	wrappers = append([]string{"env", "time", "timeout", "nice", "nohup", "exec", "command", "xargs", "if", "then",
		"else", "elif", "while", "until", "do", "!", "{", "go", "run", "npx"}, shells...)
)

// command adds what one command does.
func (t *Traffic) command(words []string, depth int) {
	shell := false
	for i, word := range words {
		name, _, _ := strings.Cut(path.Base(word), "@") // go run PACKAGE@VERSION
		switch harness, _ := config.ProgramOf(name); {
		case name == "handoff" || name == "agent-handoff":
			t.handoff(words[i+1:])
			return
		case harness != "":
			t.Observes = true
			return
		case shell && strings.ContainsAny(word, " \t\n;"):
			t.script(word, depth-1)
			return
		case !slices.Contains(wrappers, name) && !isOption(word):
			return
		}
		shell = shell || slices.Contains(shells, name)
	}
}

// isOption reports whether a word before a program is an option, a number or a variable.
func isOption(word string) bool {
	return strings.HasPrefix(word, "-") || strings.Contains(word, "=") || word != "" && '0' <= word[0] && word[0] <= '9'
}

// handoff adds what a command of handoff with some arguments does.
func (t *Traffic) handoff(args []string) {
	var verbs []string
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") && (i == 0 || args[i-1] != "--workspace") {
			verbs = append(verbs, arg)
		}
	}
	verbs = append(verbs, "", "")
	switch verbs[0] {
	case "publish", "write", "import":
		t.Publishes = true
	case "pipeline", "stage", "session", "thread":
		made := slices.Contains([]string{"put", "add", "adopt", "import", "keep"}, verbs[1])
		t.Publishes, t.Observes = t.Publishes || made, t.Observes || !made
	default:
		t.Observes = true
	}
}

// commandsOf returns the words of the commands of a shell script, also of those in
// substitutions. What a here-document contains is left out.
func commandsOf(script string) [][]string {
	p := commands{script: script}
	for p.at < len(script) {
		p.next()
	}
	p.end()
	return p.list
}

// commands are read from a script.
type commands struct {
	script string
	at     int
	list   [][]string
	words  []string
	word   strings.Builder
	open   bool   // a word has begun
	quote  byte   // the character that ends the quotes, 0 outside of them
	outer  []byte // the quotes around each substitution
	ticks  bool   // in a substitution in backquotes
	until  string // the line that ends a here-document, "" for none
}

// next reads a character, or a longer part.
func (p *commands) next() {
	c, rest := p.script[p.at], p.script[p.at+1:]
	p.at++
	switch {
	case p.quote == '\'' && c != '\'':
		p.add(c)
	case c == '\\' && rest != "":
		p.at++
		if rest[0] != '\n' {
			p.add(rest[0])
		}
	case c == '$' && strings.HasPrefix(rest, "("):
		p.at++
		p.enter()
	case c == '`' && p.ticks, c == ')' && p.quote == 0:
		p.leave()
		p.ticks = p.ticks && c != '`'
	case c == '`':
		p.enter()
		p.ticks = true
	case c == p.quote:
		p.quote = 0
	case p.quote != 0:
		p.add(c)
	case c == '\'' || c == '"':
		p.quote, p.open = c, true
	case c == ' ' || c == '\t':
		p.endWord()
	case c == '#' && !p.open:
		comment, _, _ := strings.Cut(rest, "\n")
		p.at += len(comment)
	case strings.HasPrefix(rest, "<") && c == '<' && !strings.HasPrefix(rest, "<<"):
		p.document(rest[1:])
	case strings.IndexByte(";|&(\n", c) >= 0:
		p.end()
		if c == '\n' {
			p.skipDocument()
		}
	default:
		p.add(c)
	}
}

func (p *commands) add(c byte) {
	p.word.WriteByte(c)
	p.open = true
}

func (p *commands) endWord() {
	if p.open {
		p.words = append(p.words, p.word.String())
	}
	p.word.Reset()
	p.open = false
}

// end ends a command.
func (p *commands) end() {
	if p.endWord(); len(p.words) > 0 {
		p.list = append(p.list, p.words)
	}
	p.words = nil
}

// enter starts a substitution, and leave ends it.
func (p *commands) enter() {
	p.end()
	p.outer, p.quote = append(p.outer, p.quote), 0
}

func (p *commands) leave() {
	p.end()
	if last := len(p.outer) - 1; last >= 0 {
		p.quote, p.outer = p.outer[last], p.outer[:last]
	}
}

// document reads the word after <<.
func (p *commands) document(rest string) {
	p.endWord()
	word := strings.TrimLeft(rest, "- \t")
	if i := strings.IndexAny(word, " \t\n;|&)<>"); i >= 0 {
		word = word[:i]
	}
	p.at += 1 + strings.Index(rest, word) + len(word)
	p.until = strings.Trim(word, `'"\`)
}

// skipDocument skips a here-document, which starts at a new line.
func (p *commands) skipDocument() {
	if p.until == "" {
		return
	}
	for line := range strings.Lines(p.script[p.at:]) {
		p.at += len(line)
		if strings.TrimSpace(line) == p.until {
			break
		}
	}
	p.until = ""
}
