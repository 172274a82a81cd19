package contract

// Tools returns the pipelines of other tools, which keep the files of their runs in folders
// of their own.
func Tools() (map[string]*Pipeline, error) {
	const file = "tools.yaml"
	b, err := embedded.ReadFile(builtinFolder + "/" + file)
	if err != nil {
		return nil, err
	}
	return Parse(file, b, nil)
}
