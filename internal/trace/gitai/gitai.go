// Package gitai writes and reads authorship logs in the format of the Git AI Standard
// v3.0.0. Such a log is a note of a commit in refs/notes/ai, and states who wrote the lines
// that the commit adds.
package gitai

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// Ref is where git keeps the logs.
const Ref = "refs/notes/ai"

// version is the version of the format.
const version = `"authorship/3.0.0"`

// A Log is the authorship log of a commit.
type Log struct {
	files    []file
	metadata map[string]json.RawMessage
}

type file struct {
	path    string
	entries []entry
}

// An entry has ranges of lines, from and to, of one key.
type entry struct {
	key    string
	ranges [][2]int
}

// A Writer is who wrote a line.
type Writer struct {
	Tool  string `json:"tool"`
	ID    string `json:"id"` // of the conversation, for the tool
	Model string `json:"model"`

	Human string `json:"-"` // instead of the others
}

// New returns the log of a commit. What a call wrote has one key, which is always the same.
// A path with a quote is left out: the format has no form for it.
func New(commit string, lines []trace.WrittenLines) Log {
	sessions := map[string]map[string]Writer{}
	var l Log
	for _, w := range lines {
		uri, err := thread.ParseURI(w.Message)
		if err != nil || strings.Contains(w.Path, `"`) {
			continue
		}
		id := strings.TrimSuffix(uri.Thread+"/"+uri.Agent, "/")
		session := "s_" + sum(uri.Provider+":"+id)
		sessions[session] = map[string]Writer{"agent_id": {Tool: uri.Provider, ID: id, Model: w.Model}}
		l.add(w.Path, session+"::t_"+sum(w.Message), w.From, w.To)
	}
	l.metadata = map[string]json.RawMessage{"schema_version": json.RawMessage(version),
		"base_commit_sha": encode(commit), "prompts": encode(struct{}{}), "sessions": encode(sessions)}
	return l
}

// sum returns the 14 digits of an ID.
func sum(text string) string {
	b := sha256.Sum256([]byte(text))
	return hex.EncodeToString(b[:7])
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the values are strings
	}
	return b
}

// add adds lines of a file under a key, in the order of lines.
func (l *Log) add(path, key string, from, to int) {
	i := slices.IndexFunc(l.files, func(f file) bool { return f.path == path })
	if i < 0 {
		i, l.files = len(l.files), append(l.files, file{path: path})
	}
	f := &l.files[i]
	j := slices.IndexFunc(f.entries, func(e entry) bool { return e.key == key })
	if j < 0 {
		j, f.entries = len(f.entries), append(f.entries, entry{key: key})
	}
	e := &f.entries[j]
	if n := len(e.ranges); n > 0 && e.ranges[n-1][1] == from-1 {
		e.ranges[n-1][1] = to
		return
	}
	e.ranges = append(e.ranges, [2]int{from, to})
}

// Lines returns the number of lines that have a writer.
func (l Log) Lines() (n int) {
	for _, f := range l.files {
		for _, e := range f.entries {
			for _, r := range e.ranges {
				n += r[1] - r[0] + 1
			}
		}
	}
	return n
}

// String returns the log as the text of a note.
func (l Log) String() string {
	var b strings.Builder
	for _, f := range l.files {
		path := f.path
		if strings.ContainsAny(path, " \t\n") {
			path = `"` + path + `"`
		}
		b.WriteString(path + "\n")
		for _, e := range f.entries {
			var list []string
			for _, r := range e.ranges {
				text := strconv.Itoa(r[0])
				if r[1] > r[0] {
					text += "-" + strconv.Itoa(r[1])
				}
				list = append(list, text)
			}
			b.WriteString("  " + e.key + " " + strings.Join(list, ",") + "\n")
		}
	}
	metadata, _ := json.MarshalIndent(l.metadata, "", "  ") // is valid JSON
	return b.String() + "---\n" + string(metadata) + "\n"
}

var errFormat = errors.New("not an authorship log of version 3.0.0")

// Parse parses the text of a note.
func Parse(note []byte) (l Log, err error) {
	text, metadata, ok := bytes.Cut(append([]byte("\n"), note...), []byte("\n---\n"))
	if !ok || json.Unmarshal(metadata, &l.metadata) != nil || string(l.metadata["schema_version"]) != version {
		return l, errFormat
	}
	for line := range strings.Lines(string(text) + "\n") {
		line = strings.TrimSuffix(line, "\n")
		rest, indented := strings.CutPrefix(line, "  ")
		switch {
		case line == "":
		case !indented:
			if len(line) > 1 && line[0] == '"' {
				line = strings.Trim(line, `"`)
			}
			l.files = append(l.files, file{path: line})
		default:
			e, err := parseEntry(rest)
			if err != nil || len(l.files) == 0 {
				return l, errFormat
			}
			f := &l.files[len(l.files)-1]
			f.entries = append(f.entries, e)
		}
	}
	return l, nil
}

func parseEntry(text string) (e entry, err error) {
	key, list, _ := strings.Cut(text, " ")
	e.key = key
	for part := range strings.SplitSeq(list, ",") {
		first, last, several := strings.Cut(part, "-")
		if !several {
			last = first
		}
		from, errFrom := strconv.Atoi(first)
		to, errTo := strconv.Atoi(last)
		if errFrom != nil || errTo != nil || from < 1 || to < from {
			return e, errFormat
		}
		e.ranges = append(e.ranges, [2]int{from, to})
	}
	return e, nil
}

// at returns the keys of a line of a file, of all lines for 0 and of all files for "".
func (l Log) at(path string, line int) (keys []string) {
	for _, f := range l.files {
		for _, e := range f.entries {
			if (path == "" || f.path == path) && (line == 0 || slices.ContainsFunc(e.ranges, func(r [2]int) bool {
				return r[0] <= line && line <= r[1]
			})) {
				keys = append(keys, e.key)
			}
		}
	}
	return keys
}

// Writers returns who wrote a line of a file, any of its lines for 0, or of any file for "".
func (l Log) Writers(path string, line int) (list []Writer) {
	var sessions, prompts map[string]struct {
		Agent Writer `json:"agent_id"`
	}
	var humans map[string]struct {
		Author string `json:"author"`
	}
	for name, to := range map[string]any{"sessions": &sessions, "prompts": &prompts, "humans": &humans} {
		_ = json.Unmarshal(l.metadata[name], to) // what is not valid names nobody
	}
	for _, key := range l.at(path, line) {
		session, _, _ := strings.Cut(key, "::")
		w := Writer{Human: humans[key].Author}
		switch {
		case strings.HasPrefix(key, "s_"):
			w = sessions[session].Agent
		case !strings.HasPrefix(key, "h_"):
			w = prompts[key].Agent
		}
		if w != (Writer{}) && !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// Merge returns the log with the lines of another one that it has no writer of.
func (l Log) Merge(other Log) (Log, error) {
	var sessions, added map[string]json.RawMessage
	if s, ok := l.metadata["sessions"]; ok && json.Unmarshal(s, &sessions) != nil ||
		json.Unmarshal(other.metadata["sessions"], &added) != nil {
		return l, fmt.Errorf("its sessions: %w", errFormat)
	}
	if sessions == nil {
		sessions = map[string]json.RawMessage{}
	}
	merged := Log{metadata: map[string]json.RawMessage{}}
	for _, f := range l.files {
		merged.files = append(merged.files, file{f.path, slices.Clone(f.entries)})
	}
	for _, f := range other.files {
		for _, e := range f.entries {
			for _, r := range e.ranges {
				for n := r[0]; n <= r[1]; n++ {
					if len(l.at(f.path, n)) > 0 {
						continue
					}
					merged.add(f.path, e.key, n, n)
					session, _, _ := strings.Cut(e.key, "::")
					if _, ok := sessions[session]; !ok {
						sessions[session] = added[session]
					}
				}
			}
		}
	}
	for name, value := range l.metadata {
		merged.metadata[name] = value
	}
	merged.metadata["sessions"] = encode(sessions)
	return merged, nil
}
