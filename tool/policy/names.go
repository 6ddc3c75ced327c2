package policy

import (
	"slices"
	"strings"
	"unicode"

	"wield/tool/internal/guardedfiles"
)

// What is thought of names. Names are compared in lower case, without what some systems leave out at their end.

// foldName returns a name as the laxest file system sees it: Windows drops points and blanks at the end and
// what follows a colon, and several systems ignore case.
func foldName(name string) string {
	name, _, _ = strings.Cut(name, ":")
	return strings.ToLower(strings.TrimRight(name, ". "))
}

func foldNames(names []string) []string {
	folded := make([]string, len(names))
	for i, n := range names {
		folded[i] = foldName(n)
	}
	return folded
}

// sensitiveDirs hold keys and accounts.
var sensitiveDirs = []string{".ssh", ".aws", ".gcp", ".gnupg", ".azure", ".kube", ".docker", ".password-store"}

// sensitiveNames are files of keys and accounts.
var sensitiveNames = []string{".env", ".npmrc", ".netrc", "_netrc", ".pypirc", ".pgpass", ".my.cnf",
	".git-credentials", ".htpasswd", ".dockercfg", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "passwd", "shadow",
	"gshadow", "sudoers", "credentials", "master.key", ".envrc", ".vault-token", ".terraformrc", ".s3cfg", ".boto",
	".dockerconfigjson", "kubeconfig", ".bash_history", ".zsh_history", ".python_history", ".psql_history",
	".mysql_history", ".node_repl_history", "service-account.json", "service_account.json", "serviceaccountkey.json",
	"token.txt", "tokens.txt", ".token", "api_key.txt", "api-key.txt", "apikey.txt", "api_keys.txt", "access_token"}

// sensitiveEndings are those of files that hold keys.
var sensitiveEndings = []string{".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".gpg", ".asc",
	".env", ".tfstate"}

// sensitiveWords make a file of data sensitive. A program may have them in its name: secrets.go is no secret.
var sensitiveWords = lazily(`(^|[^a-z])(credentials?|secrets?|passwords?|passwd|shadow|private[-_]?key)([^a-z]|$)`)

// keyName is how ssh names keys.
var keyName = lazily(`^id_(rsa|dsa|ecdsa|ed25519)`)

// dataEndings are those of files that hold values rather than programs or prose.
var dataEndings = []string{"", ".json", ".yaml", ".yml", ".toml", ".ini", ".txt", ".cfg", ".conf", ".csv", ".xml",
	".properties", ".env", ".db", ".sqlite", ".bak", ".old", ".enc"}

// harmlessEnvs are examples that come with programs.
var harmlessEnvs = []string{".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults",
	"example.env", "sample.env", "template.env"}

// sensitiveName returns the part of a path, in lower case, for which it is refused unless a rule names it; else "".
func sensitiveName(folded []string) string {
	if len(folded) == 0 {
		return ""
	}
	for _, dir := range folded {
		if slices.Contains(sensitiveDirs, dir) {
			return dir
		}
	}
	name := folded[len(folded)-1]
	if slices.Contains(harmlessEnvs, name) {
		return ""
	}
	for _, ending := range []string{"~", ".bak", ".old", ".orig", ".save", ".backup"} {
		name = strings.TrimSuffix(name, ending)
	}
	switch {
	case slices.Contains(sensitiveNames, name), strings.HasPrefix(name, ".env."), keyName.MatchString(name):
		return name
	case slices.ContainsFunc(sensitiveEndings, func(e string) bool { return strings.HasSuffix(name, e) }):
		return name
	}
	return ""
}

// usualNames are names that a pattern for more than keys fits.
var usualNames = []string{"main.go", "a.txt", "test.txt", "readme", "a.json", "schema.json", "server.json",
	"config.json", "main.ex", "token.go", "service.go", "api_key.go"}

// sensitivePattern is sensitiveName for what may be a pattern of a command: a file that it fits may be there by then.
// A pattern of a rule does not name what it fits by a star.
func sensitivePattern(folded []string) string {
	if len(folded) > 0 && aimsAtKeys(folded[len(folded)-1]) {
		return folded[len(folded)-1]
	}
	return sensitiveName(folded)
}

// aimsAtKeys reports whether a pattern, rather than one for many files, fits a name of keys.
func aimsAtKeys(pattern string) bool {
	if !strings.ContainsAny(pattern, "*?[") || len(strings.Trim(pattern, "*?")) < 2 {
		return false
	}
	fits := func(name string) bool { return matches(pattern, name) }
	return slices.ContainsFunc(sensitiveNames, fits) && !slices.ContainsFunc(usualNames, fits)
}

// sensitiveData returns the part of a path, in lower case, that says that the file holds secrets; else "".
func sensitiveData(folded []string) string {
	if len(folded) == 0 {
		return ""
	}
	name := folded[len(folded)-1]
	ending := ""
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		ending = name[i:]
	}
	if !slices.Contains(dataEndings, ending) {
		return ""
	}
	for _, n := range folded {
		if sensitiveWords.MatchString(n) {
			return n
		}
	}
	return ""
}

// protectedName returns the part of a path, in lower case, for which it is never written; else "".
func protectedName(folded []string) string {
	if class, part := guardedfiles.Of(folded); class == guardedfiles.Decides {
		return part
	}
	return ""
}

// laterName returns the part of a path, in lower case, for which a person is asked before it is changed; else "".
func laterName(folded []string) string {
	if class, part := guardedfiles.Of(folded); class == guardedfiles.Later {
		return part
	}
	return ""
}

// shortName is a name that Windows makes for a longer one: SECRET~1.
var shortName = lazily(`(?i)^\.?[^. ]{1,6}~[0-9]{1,4}(\.[^.]{0,3})?$`)

// reservedName is a device of Windows, with or without an ending.
var reservedName = lazily(`(?i)^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\.|$)`)

// badName says what is wrong with one name of a path that a tool is to use, on any system; "" if nothing is.
func badName(name string) string {
	switch {
	case len(name) > 255:
		return "a name of more than 255 bytes"
	case name == "." || name == "..":
		return ""
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return "a name that ends in a point or blank, which Windows leaves out"
	case strings.Contains(name, ":"):
		return "a colon, which on Windows names a drive or a stream"
	case strings.Contains(name, `\`):
		return "a backslash, which on Windows parts directories: write /"
	case reservedName.MatchString(name):
		return "the name of a device of Windows"
	case shortName.MatchString(name):
		return "a short name as Windows makes them"
	}
	return ""
}

// badText says what is wrong with the characters of a path; "" if nothing is.
func badText(p string) string {
	switch {
	case p == "":
		return "the path is empty"
	case len(p) > 4095:
		return "a path of more than 4095 bytes"
	case strings.Contains(p, "\x00"):
		return "a NUL byte"
	}
	for _, r := range p {
		if unicode.IsControl(r) {
			return "a control character"
		}
		if hidden(r) {
			return "an invisible character"
		}
	}
	return ""
}

// hidden reports whether a character cannot be seen, or changes how others are seen.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) || unicode.IsControl(r) ||
		r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef || r == 0x3164 || r == 0x115f || r == 0x1160 ||
		r == 0x2800
}
