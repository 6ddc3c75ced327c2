package policy

import (
	"bytes"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// What programs that build, test and measure may write without a rule about the path: what others have built
// before, and what is not there yet. A source file, a configuration or a script is none of that.

// outputEndings are those of files that nobody writes by hand.
var outputEndings = []string{".o", ".a", ".so", ".obj", ".exe", ".dll", ".d", ".test", ".out", ".cov", ".cover",
	".coverprofile", ".lcov", ".prof", ".pprof", ".trace", ".log", ".trx", ".sarif", ".tsbuildinfo", ".wasm", ".class",
	".jar", ".rlib", ".gcda", ".gcno", ".tmp"}

// dataOutputs are endings of reports as well as of files of a project.
var dataOutputs = []string{".xml", ".json", ".html", ".txt", ".csv", ".svg", ".md", ".tap", ".info", ".png", ".pdf",
	".gz"}

// outputDirs hold what is built.
var outputDirs = []string{"build", "out", "dist", "target", "bin", "obj", "tmp", "coverage", "htmlcov", "reports",
	"test-results", "testresults", "artifacts"}

// hiddenOutputs lists directories that programs keep for themselves.
var hiddenOutputs = []string{".venv", ".tox", ".nox", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".coverage",
	".nyc_output", ".eslintcache"}

// reportName is that of a file with results, which may be there from the last time.
var reportName = lazily(`^(.*[-_.])?(report|results?|coverage|cover|junit|profile|bench|benchmark)s?([-_.].*)?$`)

// orderFiles are files that builders, test runners and checkers take orders from, by their names in lower case.
var orderFiles = lazily(
	`^((gnu)?makefile|configure|gradlew|mvnw|dockerfile|(rake|gem|proc|jenkins|just|vagrant|brew|pip)file|head` +
		`|.*\.(mk|ninja|cmake|gradle|gradle\.kts|props|targets|csproj|fsproj|vbproj|sln|slnx|rake|gemspec)` +
		`|(package(-lock)?|tsconfig.*|jsconfig.*|composer|deno|nx|turbo|lerna|project|global|.*config|.*rc|cmake(user)?presets|settings|appsettings.*|web|app|manifest|tasks|launch)\.jsonc?` +
		`|(pom|build|phpunit|phpstan|psalm|phpcs|.*config)\.xml(\.dist)?|(requirements.*|constraints.*|cmakelists|cmakecache|meson.*)\.txt|meson\.build` +
		`|.*\.config\.[cm]?[jt]s|\..*rc(\.[a-z0-9]+)?|\.(golangci|rubocop|eslintrc|prettierrc|mocharc)\..*|\.(flake8|rspec|babelrc)|\.php-cs-fixer.*` +
		`|(pytest|tox|mypy)\.ini|setup\.(py|cfg)|pyproject\.toml|noxfile\.py|tasks\.py|bunfig\.toml|cargo\.toml|build\.rs|mix\.exs|build\.sbt|package\.swift|build\.zig` +
		`|gradle\.properties|go\.work|nuget\.config|phpstan\.neon|taskfile\.ya?ml|docker-compose.*\.ya?ml|compose\.ya?ml)$`)

// takesOrders reports whether programs take orders from a file of that name, in lower case.
func takesOrders(name string) bool { return orderFiles.MatchString(name) }

// proseNames are files without an ending that nobody builds.
var proseNames = []string{"codeowners", "license", "readme"}

// builtName is that of a program without an ending.
var builtName = lazily(`^[a-z0-9][a-z0-9_-]*$`)

// isOutput reports whether what is written is something that was built or measured, wherever the command may run.
func (e *eval) isOutput(u use, sc scope) bool {
	dirs := sc.dirs
	if strings.HasPrefix(u.text, "/") {
		dirs = []string{""}
	}
	r := e.root()
	if r.err != nil || len(dirs) == 0 || u.tilde {
		return false
	}
	return !slices.ContainsFunc(dirs, func(dir string) bool { return !isOutputAt(r.locate(u.text, dir)) })
}

func isOutputAt(at resolvedPath) bool {
	if at.outside || at.err != nil || len(at.names) == 0 {
		return false
	}
	folded := foldNames(at.names)
	if len(folded) == 1 && slices.Contains(hiddenOutputs, folded[0]) {
		return true
	}
	if slices.ContainsFunc(folded, func(n string) bool {
		return strings.HasPrefix(n, ".") || n == "node_modules" || n == "site-packages"
	}) {
		return false
	}
	name := folded[len(folded)-1]
	dirs := folded[:len(folded)-1]
	if at.mode.IsDir() || strings.HasSuffix(at.text, "/") {
		dirs = folded
	}
	ending := path.Ext(name)
	inside := slices.ContainsFunc(dirs, func(d string) bool {
		return slices.Contains(outputDirs, d) || strings.HasPrefix(d, "cmake-build-") || strings.HasPrefix(d, "build-")
	})
	switch {
	case slices.Contains(proseNames, name), takesOrders(name):
		return false
	case at.mode.IsDir():
		return inside
	case slices.Contains(outputEndings, ending):
		return true
	case ending == "" && builtName.MatchString(name):
		return at.missing || isBuilt(at.abs)
	case slices.Contains(dataOutputs, ending):
		return at.missing || inside || reportName.MatchString(name)
	}
	return false
}

// builtMarks begin programs and libraries.
var builtMarks = []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe", "MZ", "!<arch>\n"}

// isBuilt reports whether a file is a program or library that was made by a compiler.
func isBuilt(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 8))
	return err == nil &&
		slices.ContainsFunc(builtMarks, func(m string) bool { return bytes.HasPrefix(head, []byte(m)) })
}
