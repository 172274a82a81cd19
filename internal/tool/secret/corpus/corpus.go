// Package corpus generates texts with secrets of known formats, in several contexts, and
// texts that look like secrets and are none. Tests of redaction use it. The secrets are
// random: nothing accepts them.
package corpus

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A Case is a text with a secret.
type Case struct {
	Format  string // the name of the format
	Context string // what the text is: one of Contexts
	Text    string
	Secret  string // what a redaction must replace, as it is in the text
}

// A format is how a secret is written. In a template, {h40} stands for 40 random
// characters of the class h of classes, {B20} for base64 of a user and 20 characters.
type format struct {
	name  string
	title string // the name that precedes the secret, as a variable
	value string // a template
	text  string // a template with %s for the secret, if a name and a value is not how it is written
	url   string // the same in a URL
}

// Contexts are the kinds of texts that secrets are in.
var Contexts = []string{"json", "env", "shell", "yaml", "url"}

// classes are the alphabets of templates.
var classes = map[byte]string{
	'd': "0123456789",
	'h': "0123456789abcdef",
	'H': "0123456789ABCDEF",
	'l': "abcdefghijklmnopqrstuvwxyz0123456789",
	'u': "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
	'A': "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
	'x': "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
	'a': "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
	'w': "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-",
	'b': "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/",
	'g': "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
	'r': "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
}

// random is a generator of numbers (xorshift64*), so that a seed makes the same texts
// everywhere.
type random uint64

func (r *random) below(n int) int {
	*r ^= *r >> 12
	*r ^= *r << 25
	*r ^= *r >> 27
	return int((uint64(*r) * 2685821657736338717 >> 33) % uint64(n))
}

// fill replaces the classes in a template.
func (r *random) fill(template string) string {
	var b strings.Builder
	for rest := template; ; {
		before, class, ok := strings.Cut(rest, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		class, after, _ := strings.Cut(class, "}")
		n, err := strconv.Atoi(class[min(1, len(class)):])
		if err != nil {
			b.WriteString("{")
			rest = rest[len(before)+1:]
			continue
		}
		rest = after
		if class[0] == 'B' { // credentials, as HTTP's Basic scheme sends them
			b.WriteString(base64.StdEncoding.EncodeToString([]byte("deploy:" + r.text('a', n))))
			continue
		}
		b.WriteString(r.text(class[0], n))
	}
}

// text returns random characters of a class.
func (r *random) text(class byte, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = classes[class][r.below(len(classes[class]))]
	}
	return string(b)
}

func newRandom(seed uint64) *random {
	r := random(seed*0x9e3779b97f4a7c15 + 1)
	for range 8 {
		r.below(2)
	}
	return &r
}

// Cases returns each format in each context.
func Cases(seed uint64) []Case {
	r := newRandom(seed)
	var list []Case
	for _, f := range formats {
		for _, context := range Contexts {
			secret := r.fill(f.value)
			text, visible := f.in(context, r, secret)
			list = append(list, Case{f.name, context, text, visible})
		}
	}
	return list
}

// in returns the text of a context, and the secret as it is in it.
func (f format) in(context string, r *random, secret string) (text, visible string) {
	visible = secret
	if strings.Contains(secret, "\n") { // of several lines; its second one is looked for
		visible = strings.Split(secret, "\n")[1]
	}
	said := f.title + "=" + secret
	if f.text != "" {
		said = fmt.Sprintf(r.fill(f.text), secret)
	}
	switch context {
	case "json":
		return transcript(f, r, said, secret), visible
	case "env":
		if f.text != "" {
			return "# deploy\nDEBUG=1\n" + said + "\nREGION=eu-west-1\n", visible
		}
		return "# deploy\nDEBUG=1\nexport " + f.title + "=\"" + secret + "\"\nREGION=eu-west-1\n", visible
	case "shell":
		if f.text != "" {
			return "cd app && " + said + " && make deploy\n", visible
		}
		return "cd app && " + f.title + "='" + secret + "' make deploy\n", visible
	case "yaml":
		if f.text != "" {
			return "steps:\n  - run: |\n      " + strings.ReplaceAll(said, "\n", "\n      ") + "\n", visible
		}
		return "service:\n  name: cart\n  " + strings.ToLower(f.title) + ": " +
			strings.ReplaceAll(secret, "\n", "\n    ") + "\n", visible
	}
	if f.url != "" {
		return "see " + fmt.Sprintf(r.fill(f.url), secret) + " for it\n", visible
	}
	return "GET https://api.host.test/v1/items?page=2&" + strings.ToLower(f.title) + "=" + secret +
		"&sort=asc HTTP/1.1\n", visible
}

// transcript returns a line of a transcript: a result of a tool, which may be JSON.
func transcript(f format, r *random, said, secret string) string {
	output := "$ cat config\n" + said + "\n"
	if f.text == "" && r.below(2) == 0 {
		b, _ := json.Marshal(map[string]string{"region": "eu-west-1", f.title: secret})
		output = string(b)
	}
	line, _ := json.Marshal(map[string]any{"type": "user", "uuid": r.fill("{h8}-{h4}-4{h3}-a{h3}-{h12}"),
		"message": map[string]any{
			"role": "user",
			"content": []any{map[string]any{"type": "tool_result", "tool_use_id": r.fill("toolu_01{a22}"),
				"content": output}},
		}})
	return string(line) + "\n"
}

// LookAlikes returns texts without secrets.
func LookAlikes(seed uint64) []string {
	r := newRandom(seed)
	var list []string
	for _, template := range lookAlikes {
		list = append(list, r.fill(template))
	}
	return list
}
