package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// libraries writes the wheel and the npm packages of clients.
func (r *release) libraries() error {
	dir := filepath.Join(r.work, "libraries")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	c := exec.Command(filepath.Join(r.source, ".ci/libraries"), "--packages", r.version, dir)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	c.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix()))
	if err := c.Run(); err != nil {
		return fmt.Errorf("the libraries: %w", err)
	}
	made, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range made {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		name := f.Name()
		if strings.HasSuffix(name, ".tgz") {
			name = "npm-" + name
		}
		if err := r.write(name, b); err != nil {
			return err
		}
	}
	return nil
}
