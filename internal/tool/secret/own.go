package secret

import (
	"slices"
	"strings"
)

// privateKey is the kind of the only secrets of several lines.
const privateKey = "private key"

// own are the rules that gitleaks does not have, or that find more. They come first.
func own() []*rule {
	return append(tokens(), values()...)
}

// tokens are secrets that have a form of their own.
func tokens() []*rule {
	return []*rule{
		{kind: privateKey, place: exact, marks: []string{"-----BEGIN "}, window: 16 << 10,
			expr: `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----` +
				`(?:(?:[^-]|-[^-])*?[A-Za-z0-9+/=]{6}(?:[^-]|-[^-])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----` +
				`|\s*(?:[A-Za-z-]+: [^\n]*\s+)*(?:[A-Za-z0-9+/=]{20,}\s+)*(?:MI[A-Za-z0-9+/=]{2,}|[A-Za-z0-9+/=]{16,}))`},
		{kind: "AWS key", place: exact, marks: []string{"AKIA", "ASIA"}, expr: `\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`,
			ok: notRepeated},
		{kind: "GitHub token", place: exact, marks: []string{"ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_"},
			expr: `\b(?:gh[opsur]_[0-9A-Za-z]{36,}|github_pat_[0-9A-Za-z_]{40,})`, ok: notRepeated},
		{kind: "GitLab token", place: exact, marks: []string{"glpat-"}, expr: `\bglpat-[0-9A-Za-z_-]{20,}`, ok: notRepeated},
		{kind: "Slack token", place: exact, marks: []string{"xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "xoxc-",
			"xoxd-"}, expr: `\bxox[a-dprs]-[0-9A-Za-z%-]{10,}`, ok: notRepeated},
		{kind: "API key", place: exact, marks: []string{"sk-"}, expr: `\bsk-[0-9A-Za-z_-]{20,}`, ok: isRandom},
		{kind: "Google key", place: exact, marks: []string{"AIza"}, expr: `\bAIza[0-9A-Za-z_-]{35}`, ok: notRepeated},
		{kind: "Google token", place: exact, marks: []string{"GOCSPX-", "1//0", "ya29."},
			expr: `\b(?:GOCSPX-[0-9A-Za-z_-]{20,}|1//0[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_.-]{30,})`, ok: isRandom},
		{kind: "JSON web token", place: exact, marks: []string{"eyJ"}, window: 2048,
			expr: `\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}(?:\.[0-9A-Za-z_-]*)?`},
		{kind: "Stripe secret", place: exact, marks: []string{"whsec_"}, expr: `\bwhsec_[0-9A-Za-z+/]{24,}={0,2}`,
			ok: isRandom},
		{kind: "PyPI token", place: exact, marks: []string{"pypi-AgE"}, expr: `\bpypi-AgE[0-9A-Za-z_-]{50,}`},
		{kind: "Hugging Face token", place: exact, marks: []string{"hf_"}, expr: `\bhf_[0-9A-Za-z]{30,}`, ok: notRepeated},
		{kind: "Replicate token", place: exact, marks: []string{"r8_"}, expr: `\br8_[0-9A-Za-z]{30,}`, ok: isRandom},
		{kind: "API key", place: exact, marks: []string{"gsk_", "pplx-", "xai-", "fw_", "nvapi-", "lsv2_pt_",
			"lsv2_sk_", "tvly-", "csk-", "jina_", "sk_"},
			expr: `\b(?:gsk_|pplx-|xai-|fw_|nvapi-|lsv2_(?:pt|sk)_|tvly-|csk-|jina_|sk_)[0-9A-Za-z_-]{24,}`, ok: isRandom},
		{kind: "SendGrid key", place: exact, marks: []string{"SG."}, expr: `\bSG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}`,
			ok: notRepeated},
		{kind: "Slack webhook", marks: []string{"hooks.slack.com/"},
			expr: `(?i)hooks\.slack\.com/(?:services|workflows|triggers)/([0-9A-Za-z_+/-]{20,})`, ok: isRandom},
		{kind: "Discord webhook", marks: []string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"},
			expr: `(?i)discord(?:app)?\.com/api/webhooks/\d{15,20}/([0-9A-Za-z_-]{40,})`},
		{kind: "Discord token", place: exact, marks: discordMarks(),
			expr: `\b[MNO][0-9A-Za-z_-]{22,27}\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27,40}`},
		{kind: "Azure client secret", place: near, marks: []string{"q~"},
			expr: `\b([0-9A-Za-z_~.-]{3}\dQ~[0-9A-Za-z_~.-]{31,34})`},
		{kind: "Telegram token", place: near, marks: []string{":aa"}, expr: `(?:\b|bot)(\d{8,10}:AA[0-9A-Za-z_-]{32,35})`},
		{kind: "Vault token", place: exact, marks: []string{"hvs.", "hvb.", "hvr."}, expr: `\bhv[sbr]\.[0-9A-Za-z_-]{24,}`,
			ok: isRandom},
		{kind: "Docker token", place: exact, marks: []string{"dckr_pat_", "dckr_oat_"},
			expr: `\bdckr_[po]at_[0-9A-Za-z_-]{20,}`, ok: isRandom},
		{kind: "Atlassian token", place: exact, marks: []string{"ATATT3", "ATCTT3", "ATBB"},
			expr: `\b(?:AT[AC]TT3[0-9A-Za-z_=-]{50,}|ATBB[0-9A-Za-z]{32})`},
		{kind: "New Relic key", place: exact, marks: []string{"NRAK-", "NRII-", "NRJS-"},
			expr: `\bNR(?:AK|II|JS)-[0-9A-Za-z_-]{19,}`, ok: isRandom},
		{kind: "token", place: exact, marks: []string{"glrt-", "glsa_", "glc_", "dop_v1_", "doo_v1_", "dor_v1_", "npm_",
			"nfp_", "cfut_", "sbp_", "figd_", "vercel_", "vcp_", "rnd_", "railway_", "tskey-", "patp_", "EZAK",
			"secret_", "ntn_", "apify_api_", "phc_", "phx_", "ddp_", "CFPAT-"},
			expr: `\b(?:glrt-|glsa_|glc_|do[opr]_v1_|npm_|nfp_|cfut_|sbp_|figd_|vercel_|vcp_|rnd_|railway_|tskey-|patp_|EZAK|secret_|ntn_|apify_api_|ph[cx]_|ddp_|CFPAT-)[0-9A-Za-z_+/-]{20,}={0,2}`, ok: isRandom},
	}
}

// discordMarks are how tokens begin that Discord makes of numbers in base64.
func discordMarks() []string {
	var list []string
	for _, first := range []string{"MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"} {
		for _, next := range "AEIMQUYcgk" {
			list = append(list, first+string(next))
		}
	}
	return list
}

// values are secrets of any form, after a name or in a known place.
func values() []*rule {
	return []*rule{
		{kind: "bearer token", marks: []string{"bearer"}, expr: `(?i)\bbearer\s+([0-9A-Za-z._~+/-]{20,}=*)`, ok: isRandom},
		{kind: "basic credentials", marks: []string{"basic"}, expr: `(?i)\bbasic\s+([0-9A-Za-z+/]{8,}={0,2})`,
			ok: isCredentials},
		{kind: "basic credentials", place: name, marks: []string{"auth"},
			expr: `(?i)auth["']?\s*[=:]\s*["']?([0-9A-Za-z+/]{10,}={0,2})`, ok: isCredentials},
		{kind: "AWS secret key", place: name, marks: []string{"aws_secret", "awssecret", "aws-secret",
			"secretaccesskey", "secret_access_key", "secret-access-key", "secret access key", "secretkey"},
			expr: `(?i)(?:aws[_-]?)?secret(?:[_ -]?access)?[_ -]?key["']?\s*(?:=>|:=|[=:,])?\s*["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+]|$)`, ok: func(v string) bool { return entropy(v) > 3 }},
		{kind: "AWS session token", place: name,
			marks: []string{"session_token", "sessiontoken", "security_token", "security-token"},
			expr:  `(?i)(?:session|security)[_-]?token["']?\s*(?:=>|:=|[=:,])?\s*["']?([A-Za-z0-9/+]{80,}={0,2})`, window: 2048},
		{kind: "password in a URL", place: near, marks: []string{"://"}, follows: isUser,
			expr: `\b[a-z][a-z0-9+.-]*://[^\s/:@"'\\<>{}$]*:([^\s/:@"'\\<>{}$]{3,})@`, ok: isPassword},
		{kind: "token in a URL", place: near, marks: []string{"://"}, follows: isUser,
			expr: `\bhttps?://([0-9A-Za-z_-]{20,})@`, ok: isRandom},
		{kind: "password in a data source", place: near, marks: []string{"@tcp("}, expr: `[\w.-]+:([^\s:@/"']{4,})@tcp\(`},
		{kind: "Azure key", place: start, marks: []string{"accountkey=", "sharedaccesskey=", "sharedsecret="},
			expr: `(?i)(?:AccountKey|SharedAccessKey|SharedSecret)=([0-9A-Za-z+/%]{32,}={0,2})`},
		{kind: "signature in a URL", place: near, marks: []string{"sig="}, expr: `[?&]sig=([0-9A-Za-z%+/_-]{32,}=?)`},
		{kind: "npm password", marks: []string{":_auth", ":_password"},
			expr: `(?i):_(?:authToken|auth|password)\s*=\s*["']?([^\s"'$]{8,})`, ok: notPlaceholder},
		{kind: "password in .netrc", marks: []string{"login"},
			expr: `(?i)\blogin\s+\S+\s+(?:account\s+\S+\s+)?password\s+([^\s"'<$]{4,})`, ok: notPlaceholder},
		{kind: "password of curl", marks: []string{" -u", "-user"}, after: []string{"curl", "wget"},
			expr: `(?:\s-[uU]|-user)(?:=|\s*)["']?[^\s:"'/$<]+:([^\s"'$<]{4,})`, ok: notPlaceholder},
		{kind: "cookie", place: name, marks: []string{"sess", "sid", "auth", "token", "jwt"}, after: []string{"cookie"},
			expr: `(?i)(?:sess|sid|auth|token|jwt)[\w.-]*=([^;\s"',]{8,})`, ok: isSecret},
		{kind: "key", place: name, marks: []string{"encryption", "signing", "secret_key", "secret-key", "secretkey",
			"private_key", "privatekey", "master_key", "access_key", "accesskey", "access-key", "app_key", "auth_key",
			"account_key", "accountkey"},
			expr: `(?i)(?:encryption|signing|secret|private|master|access|app|auth|account)[_-]?key["']?\s*(?:=>|:=|[=:])\s*["']?([0-9A-Za-z+/_-]{20,}={0,2})`, ok: func(v string) bool { return isRandom(v) && !isPlace(v) && entropy(v) > 3.5 }},
		{kind: "password", place: name, marks: []string{"passw", "pwd", "passphrase", "secret", "apikey", "api_key",
			"api-key", "token", "client_secret"},
			expr: `(?i)(?:password|passwd|passphrase|pwd|secret|api[_-]?key|token)["']?\s*[=:]\s*["']?([^\s"'\\,;]{8,})`,
			ok:   isSecret, trim: parameter},
	}
}

// isUser reports whether a URL begins with a user.
func isUser(text string) bool {
	i := strings.IndexAny(text[:min(len(text), 512)], "/@ \n\t\"'\\<>")
	return i >= 0 && text[i] == '@'
}

func notRepeated(v string) bool { return !strings.Contains(strings.ToLower(v), "xxxxxx") }

func notPlaceholder(v string) bool { return !isPlaceholder(v) && !strings.EqualFold(v, "password") }

var standIns = []string{"password", "passwd", "pass", "pwd", "secret", "token", "user", "username", "port", "test"}

// isPassword reports whether what a URL has in the place of a password is one: it may be a
// word, but none that names what belongs there.
func isPassword(v string) bool {
	return !isPlaceholder(v) && !strings.HasPrefix(v, marker) && !slices.Contains(standIns, strings.ToLower(v)) &&
		!strings.ContainsAny(v, "([")
}

// parameter returns the value of a parameter of a URL without the parameters after it.
func parameter(v string) string {
	for i := range len(v) {
		if name, _, ok := strings.Cut(v[i:], "="); v[i] == '&' && ok && !strings.ContainsFunc(name[1:], notName) {
			return v[:i]
		}
	}
	return v
}

func notName(c rune) bool {
	return !(c == '_' || c == '-' || c == '.' || ('0' <= c && c <= '9') || ('a' <= c && c <= 'z') ||
		('A' <= c && c <= 'Z'))
}
