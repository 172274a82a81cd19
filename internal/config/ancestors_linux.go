package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxAncestors bounds the walk, in case processes end while it runs.
const maxAncestors = 64

// Ancestors returns the processes that this process descends from, the nearest
// first: proc(5), with field 4 of stat as the parent. It ends where it can't
// read further.
func Ancestors() []Ancestor {
	var list []Ancestor
	for pid := os.Getppid(); pid > 0 && len(list) < maxAncestors; {
		dir := "/proc/" + strconv.Itoa(pid)
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil {
			break
		}
		a := Ancestor{PID: pid}
		if line, err := os.ReadFile(dir + "/cmdline"); err == nil {
			for _, word := range bytes.SplitN(line, []byte{0}, 3)[:min(2, bytes.Count(line, []byte{0}))] {
				name := filepath.Base(string(word))
				a.Names = append(a.Names, strings.TrimSuffix(strings.TrimSuffix(name, ".js"), ".mjs"))
			}
		}
		list = append(list, a)
		// Field 2 is the name of the program, which may contain any character.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 {
			break
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			break
		}
	}
	return list
}
