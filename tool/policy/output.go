package policy

import (
	"bytes"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"wield/chat"
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
	`^((gnu)?makefile(\..+)?|configure(\.ac)?|gradlew|mvnw|dockerfile(\..+)?` +
		`|containerfile|head|magefile\.go|tasks\.py` +
		`|\.?(rake|gem|proc|jenkins|just|vagrant|brew|pip|pod|danger|fast|cap|guard|steep|tilt|earth|berks|thor)file(\.rb)?` +
		`|sconstruct(\.py)?|sconscript(\.py)?|site_init\.py|wscript|xmake\.lua` +
		`|premake5\.lua|dune(-project|-workspace)?` +
		`|(build|workspace|module|repo)\.bazel|workspace(\.bzlmod)?|buck` +
		`|\.buckconfig(\.local)?|artisan|doxyfile(\..+)?` +
		`|.*\.(mk|mak|ninja|cmake|gradle|gradle\.kts|props|targets|[cfv][sb]proj|proj|sln|slnx|rsp|runsettings|rake|gemspec)` +
		`|.*\.(bzl|bazel|sbt|sc|mill|nix|tf|tf\.json|tofu|hcl|tfvars|just|nims|nimble|cabal|opam|pbxproj|xcconfig|prisma)` +
		`|(package(-lock)?|tsconfig.*|jsconfig.*|composer|deno|nx|turbo|lerna|project|global|.*config|.*rc)\.jsonc?` +
		`|(cmake(user)?presets|settings|appsettings.*|web|app|manifest|tasks|launch)\.jsonc?` +
		`|(angular|nest-cli|workspace|rush|biome|import_map|pint|phpbench|infection|cdk|devbox|dotnet-tools|vcpkg)\.json5?c?` +
		`|(grumphp|captainhook|nodemon|launchsettings|\.jscpd|wrangler|.*\.pkr|cypress|elm|sqlc|dprint|auth|vercel|firebase|renovate)\.json` +
		`|\.?(cspell|knip|codegen|typedoc|rector|ecs)\.[a-z.]+` +
		`|(pom|build|phpunit(\.dist)?|phpstan|psalm|\.?phpcs|phpmd|ruleset|checkstyle|.*config)\.xml(\.dist)?` +
		`|conanfile\.(py|txt)` +
		`|((.*-)?requirements.*|constraints.*|cmakelists|cmakecache|meson.*)\.txt|meson\.(build|options)` +
		`|.*\.(config|conf)\.[cm]?[jt]s|(gulp|grunt)file\..*|gatsby-[a-z]+\.[cm]?[jt]sx?` +
		`|vitest\.workspace\..*|ember-cli-build\.js` +
		`|\..*rc(\.[a-z0-9]+)?` +
		`|.*[.-]lock(b|\.ya?ml|\.json)?|npm-shrinkwrap\.json|go\.(sum|mod)|dartconfiguration\.tcl` +
		`|\.(flake8|rspec|simplecov|yardopts|flaskenv|sqlfluff|bandit|fasterer|ocamlformat|swiftformat|busted)` +
		`|\.(golangci|custom-gcl|rubocop|standard|eslintrc|prettierrc|mocharc|markdownlint.*|dependency-cruiser|size-limit)\..*` +
		`|\.(spectral|htmlvalidate|xo-config|solhint|redocly|php-cs-fixer|goreleaser|checkov|semgrep|(haml|slim|erb|ansible)-lint)(\..*)?` +
		`|\.(reek|solargraph|swiftlint|hlint|terraform-docs|credo|formatter|dialyzer_ignore)\..*` +
		`|\.?(pytest|tox|mypy|vale)\.ini|\.isort\.cfg` +
		`|(setup|behave|alembic|platformio)\.(py|cfg|ini)|(nim|gcovr|scrapy|ansible)\.cfg` +
		`|pylintrc|(noxfile|dodo|fabfile|pavement|hatch_build|\.ycm_extra_conf)\.py|waf` +
		`|(conf|env|manage)\.py` +
		`|(pyproject|bunfig|cargo|cross|trunk|book|diesel|nextest|makefile|foundry|gleam|cliff|hugo|config)\.toml` +
		`|(uv|pdm|poetry|hatch|pixi|robot|pytest|tox|\.?treefmt|.*\.versions|wrangler|netlify|fly|rust-toolchain|\.?tarpaulin|\.?rustfmt|\.?clippy|\.cz)\.toml` +
		`|rust-toolchain|build\.rs` +
		`|(mix|rebar)\.(exs|config|config\.script)|rebar3|package\.swift` +
		`|build\.zig(\.zon)?|setup\.hs|cabal\.project.*` +
		`|(project|profiles)\.clj|(deps|bb|shadow-cljs)\.edn|gems\.rb|config\.ru|(build|makefile)\.pl` +
		`|\.?lefthook(-local)?\..*|\.pre-commit-hooks\.ya?ml|\.lfsconfig|\.bazelversion|terraform\.rc` +
		`|truffle-config\.js|build\.boot|startup\.jl|package\.yaml` +
		`|(gradle|build|liquibase|local)\.properties|go\.work|nuget\.config|(phpstan|\.phpstan)\.neon(\.dist)?` +
		`|(\.?taskfile(\.dist)?|(docker-)?compose.*|mkdocs|buf(\.gen|\.work)?|sqlc|pnpm-workspace|redocly|codeception|.*\.suite)\.ya?ml` +
		`|(behat|deptrac|wp-cli|drush|grumphp|detekt|cucumber|_config|stack|hie|shard|pubspec|analysis_options|dart_test)\.ya?ml(\.dist)?` +
		`|(pulumi|serverless|kustomization|skaffold|helmfile|environment|dvc|spago)\.(ya?ml|json|dhall))$`)

// doctests are texts that pytest runs; testOutputs are usual names of what tests print.
var (
	doctests    = lazily(`^test.*\.txt$`)
	testOutputs = lazily(`^tests?([-_.]?(out|outputs?|results?|logs?|reports?|errors?|runs?|summary|failures?|stdout|stderr))?\.txt$`)
)

// orderPlaces are such files whose names say so together with the directory that they lie in.
var orderPlaces = lazily(`(^|/)(bin/(phpunit|console|rails|rake|rspec|rubocop)|project/[^/]*\.scala|config/.*\.exs|` +
	`\.storybook/.*|tools/bazel(\..*)?|magefiles/.*|(vendor/bin|_plugins|rakelib|site_scons|buildsrc|mise-tasks)/.*|` +
	`config/(application|boot|environment|(environments|initializers)/.*)\.rb|renv/activate\.r|` +
	`\.(terraform|trunk|run|bundle)/.*|(.*/)?(cmakefiles|meson-private|meson-info)/.*)$`)

// buildFiles are those whose letters are capitals: in small ones they are directories of what is built.
var buildFiles = []string{"BUILD", "TARGETS"}

// takesOrders reports whether programs take orders from the file that the names lead to.
func takesOrders(names []string) bool {
	if len(names) == 0 {
		return false
	}
	folded := foldNames(names)
	name := folded[len(folded)-1]
	return orderFiles.MatchString(name) || doctests.MatchString(name) && !testOutputs.MatchString(name) ||
		orderPlaces.MatchString(strings.Join(folded, "/")) ||
		slices.Contains(buildFiles, names[len(names)-1])
}

// proseNames are files without an ending that nobody builds.
var proseNames = []string{"codeowners", "license", "readme", "changelog", "contributing"}

// sourceDirs are directories of sources by their names, whether they are there or not.
var sourceDirs = []string{"src", "lib", "internal", "pkg", "cmd", "include", "source", "sources", "test", "tests",
	"spec", "docs", "scripts"}

// fileEnding is one that no branch or version has: v1.2.x ends in none.
var fileEnding = lazily(`[^/]\.([a-wyz]|[a-z][a-z0-9]+)$`)

// isFileName reports whether an operand is a file or directory by its name, rather than a branch.
func isFileName(text string) bool {
	return slices.Contains(sourceDirs, path.Clean(text)) || fileEnding.MatchString(text)
}

// textEndings are those of files that nothing runs, beside reports.
var textEndings = []string{".log", ".out", ".err", ".jsonl", ".tsv", ".diff", ".patch", ".prof", ".rst", ".bak",
	".orig", ".old"}

// isText reports whether a file has the name of a text or of data. Policies let tools write such without a question,
// and test runners take programs from files of any name, as pytest does from the examples in a text.
func isText(name string) bool {
	ending := path.Ext(strings.ToLower(name))
	return slices.Contains(textEndings, ending) || slices.Contains(dataOutputs, ending)
}

// loses adds that the files which a program is given are overwritten. A pattern stands for more files than rules about
// paths could tell.
func (a *analysis) loses() {
	for _, u := range a.uses {
		switch {
		case !u.operand || u.guess || u.kind != usePath && u.kind != useMaybe:
		case strings.ContainsAny(u.text, `*?[\`) || strings.HasPrefix(u.text, ":"):
			a.effect(effectWrite, u.text)
		default:
			a.uses = append(a.uses, use{kind: useMaybe, text: u.text, tilde: u.tilde, op: OpWrite, flagged: effectWrite,
				spelled: []string{u.text}, loses: !isFileName(u.text)})
		}
	}
}

// ontoFile asks about a text that a command copies or moves to the name of a program: policies let tools write texts
// without a question.
func (e *eval) ontoFile(uses []use, sc scope, text, node string) {
	var operands []use
	for _, u := range uses {
		if u.operand && (u.kind == usePath || u.kind == useMaybe) {
			operands = append(operands, u)
		}
	}
	last := len(operands) - 1
	if last < 1 || slices.Contains(freeFiles, operands[last].text) {
		return
	}
	to := operands[last]
	if to.op != OpWrite || to.flagged != effectNone || !to.fills || e.isDir(to.text, sc) {
		return
	}
	for _, from := range operands[:last] {
		plain := path.Ext(from.text) == "" && !e.isDir(from.text, sc) // as a text may be called on the way
		if (plain || isText(from.text)) && !isText(to.text) && path.Ext(to.text) != "" {
			e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "options",
				Visible(from.text)+" may be a text, and gets the name of a file that something may run", nil)
			return
		}
	}
}

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
	name, dirs := folded[len(folded)-1], folded[:len(folded)-1]
	if at.mode.IsDir() || strings.HasSuffix(at.text, "/") {
		dirs = folded
	}
	ending := path.Ext(name)
	inside := slices.ContainsFunc(dirs, func(d string) bool {
		return slices.Contains(outputDirs, d) || strings.HasPrefix(d, "cmake-build-") || strings.HasPrefix(d, "build-")
	})
	switch {
	case slices.Contains(proseNames, strings.TrimSuffix(name, ending)), takesOrders(at.names):
		return false
	case at.mode.IsDir():
		return inside
	case slices.Contains(outputEndings, ending):
		return true
	case ending == "" && builtName.MatchString(name):
		return at.missing && (inside || !slices.Contains(sourceDirs, name)) || isBuilt(at.abs)
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
