package content

// mediaTypes are media types by extension. The table of the system is not used,
// because it differs between machines.
var mediaTypes = map[string]string{
	".md": "text/markdown", ".markdown": "text/markdown", ".txt": "text/plain", ".log": "text/plain",
	".json": "application/json", ".jsonl": "application/x-ndjson", ".ndjson": "application/x-ndjson",
	".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml", ".xml": "application/xml",
	".csv": "text/csv", ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".ts": "text/x-typescript",
	".diff": "text/x-diff", ".patch": "text/x-diff", ".go": "text/x-go", ".py": "text/x-python",
	".sh": "text/x-shellscript",
	".rs": "text/x-rust", ".java": "text/x-java", ".c": "text/x-c", ".h": "text/x-c", ".sql": "application/sql",
	".pdf": "application/pdf", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
	".webp": "image/webp", ".svg": "image/svg+xml", ".zip": "application/zip", ".gz": "application/gzip",
	".tar": "application/x-tar",
}

// extKinds are default kinds by extension.
var extKinds = map[string]string{".diff": "patch", ".patch": "patch", ".json": "json", ".log": "log"}

// filename returns a name for a stored body of a media type.
func filename(mediaType string) string {
	for _, ext := range []string{".md", ".json", ".diff", ".txt", ".jsonl", ".yaml", ".csv", ".html", ".xml"} {
		if mediaTypes[ext] == mediaType {
			return "output" + ext
		}
	}
	return "output"
}
