package guardedfiles

import (
	"slices"
	"strings"
)

// A Class says why a file is guarded.
type Class int

// The classes.
const (
	// Free is every other file.
	Free Class = iota
	// Later is a file that another program runs, or takes orders from, when somebody opens, builds, tests or pushes the
	// project: a person is asked before it is changed.
	Later
	// Decides is a file that decides what tools may do, or what runs without anybody being asked: no tool changes it.
	Decides
)

// decidingDirs are those of which nothing is changed, at any depth.
var decidingDirs = []string{".git", ".hg", ".svn", ".jj", ".wield"}

// decidingNames are files that are never changed, at any depth.
var decidingNames = []string{".wield.yaml", ".wield.yml", ".aiignore", ".gitmodules", "tools_registry.json", ".envrc",
	".mcp.json", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc",
	".zshenv", ".zprofile", ".zlogin", ".kshrc", ".cshrc", ".tcshrc", ".login", ".xprofile", ".xinitrc", ".xsession",
	".inputrc", ".gitconfig", ".pam_environment"}

// later are files and directories that other programs run: names, or the names that lead to one. A star at
// the beginning of a name stands for any characters, one at its end too.
var later = []string{
	// Services that build and deploy what is pushed.
	".github/workflows", ".github/actions", ".gitea/workflows", ".forgejo/workflows", ".gitlab-ci.yml", ".gitlab/ci",
	".circleci", ".buildkite", ".woodpecker", ".woodpecker.yml", ".travis.yml", ".drone.yml", ".cirrus.yml",
	"azure-pipelines.yml", "bitbucket-pipelines.yml", "jenkinsfile", ".build.yml", ".builds", ".semaphore", ".tekton",
	".teamcity", ".screwdriver.yaml", "screwdriver.yaml", ".gitpod.yml", "wercker.yml", ".scrutinizer.yml",
	"appveyor.yml", ".appveyor.yml", "cloudbuild.yaml", "buildspec.yml",
	// Hooks of repositories, and which filters and drivers run over their files.
	".gitattributes", ".husky", ".githooks", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml",
	"lefthook-local.yml", "lefthook.toml", "lefthook.json", ".overcommit.yml", ".simple-git-hooks.*",
	"simple-git-hooks.*", ".arcconfig", ".lintstagedrc*", "lint-staged.config.*",
	// Editors and development containers.
	".vscode", ".idea", ".devcontainer", ".devcontainer.json", ".fleet", ".zed", ".helix", "*.code-workspace",
	"*.sublime-project", ".lvimrc", ".vimrc", ".exrc", ".nvimrc", ".nvim.lua", ".dir-locals.el", ".projectile",
	// Agents and their hooks.
	".claude", ".cursor", ".codex", ".gemini", ".continue", ".windsurf", ".roo", ".junie", ".aider.conf.yml",
	".opencode", "opencode.json*", ".kiro", ".kilocode", ".roomodes", ".amazonq", ".qwen", ".trae", ".augment",
	".goose", ".crush.json", "crush.json",
	// What agents read as orders, whoever wrote it.
	"agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", ".cursorrules", ".windsurfrules",
	".clinerules", ".goosehints", "qwen.md", "warp.md", ".github/copilot-instructions.md", ".github/instructions",
	// Interpreters, test runners and debuggers that load a file because it is there.
	"conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", ".rprofile", ".irbrc", ".pryrc", ".rspec",
	".mocharc.*", ".gdbinit", ".lldbinit", ".pdbrc", ".byebugrc", ".rdbgrc", ".psysh.php", ".iex.exs", ".ghci",
	".ocamlinit", ".utoprc", ".octaverc", ".renviron", ".tclshrc", ".pylintrc",
	// Build tools and package managers: which program is run in place of another one.
	".cargo/config.toml", ".cargo/config", ".yarnrc", ".yarnrc.yml", ".yarn/releases", ".yarn/plugins", ".pnp.cjs",
	".pnp.loader.mjs", ".pnpmfile.cjs", ".mvn", "gradle/wrapper", "init.gradle", "init.gradle.kts", ".bazelrc",
	".bazeliskrc", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".mise", ".prototools",
	".tool-versions", ".sbtopts", ".jvmopts", "bunfig.toml", ".npmrc", ".tmux.conf", ".direnvrc",
}

// patterns are those of later, taken apart: by their first name, and those that begin with a name with a star.
func patterns() (plain map[string][][]string, starred [][]string) {
	plain = map[string][][]string{}
	for _, p := range later {
		names := strings.Split(p, "/")
		if strings.Contains(names[0], "*") {
			starred = append(starred, names)
		} else {
			plain[names[0]] = append(plain[names[0]], names)
		}
	}
	return plain, starred
}

// plain and starred are made once and never changed.
var plain, starred = patterns()

// Of returns the class of a path by its names, which are in lower case, and the part of it that says so.
func Of(names []string) (c Class, part string) {
	for i, n := range names {
		if slices.Contains(decidingDirs, n) || i == len(names)-1 && slices.Contains(decidingNames, n) {
			return Decides, n
		}
	}
	for i, name := range names {
		for _, list := range [][][]string{plain[name], starred} {
			for _, p := range list {
				if n := common(p, names[i:]); n == len(p) || n > 0 && i+n == len(names) {
					return Later, strings.Join(names[i:i+n], "/")
				}
			}
		}
	}
	return Free, ""
}

// Leads reports whether a directory of that name may hold what other programs run, among other things.
func Leads(name string) bool {
	name = strings.ToLower(name)
	itself, _ := Of([]string{name})
	other, _ := Of([]string{name, "x"})
	return itself == Later && other != Later
}

// common returns how many names a path has in common with the beginning of a pattern.
func common(pattern, names []string) int {
	n := 0
	for n < len(pattern) && n < len(names) && fits(pattern[n], names[n]) {
		n++
	}
	return n
}

func fits(pattern, name string) bool {
	if rest, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(name, rest)
	}
	if rest, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, rest)
	}
	return pattern == name
}
