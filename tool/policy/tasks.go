package policy

import (
	"slices"
	"strings"
)

// taskVerbs begin the names of what a project builds, tests and checks.
var taskVerbs = strings.Fields(
	`all help default run boot build rebuild compile make assemble bundle pack package test tests unit integration e2e check checks checkstyle ci verify
	validate lint lints fmt format style vet typecheck types type tsc mypy ruff black isort flake8 pylint eslint prettier stylelint clippy staticcheck golangci
	clean distclean mostlyclean doc docs javadoc generate gen codegen proto protos bench benchmark benchmarks cover coverage cov race fuzz smoke spec specs
	dev watch debug deps dependencies dependency tidy vendor download prepare pretest posttest prebuild postbuild typings tags list tasks projects properties
	classes jar war testclasses pmd spotbugs detekt ktlint spotless spotlesscheck jest vitest mocha pytest rspec rubocop cypress playwright storybook
	examples example demo tools binaries binary bin lib libs app server client web frontend backend api cli ui core go rust js ts py python java c cpp wasm
	html pdf test32 test64 quick fast short slow full linux darwin macos windows amd64 arm64 x64 py3 py38 py39 py310 py311 py312 py313 py314 pypy3 analyze analyse
	audit vuln security jacoco static sanity acceptance functional regression system contract component snapshot screenshots i18n locale messages
	precommit pre-commit preflight presubmit info version show print outdated size report reports stats kover dokka`)

// taskOutward are words of tasks that others see, that change the machine, or that cannot be taken back.
var taskOutward = strings.Fields(
	`deploy deployment publish release releases push upload install uninstall live ship promote rollout rollback sign
	notarize send mail notify delete destroy drop reset purge wipe nuke prune kill stop start restart migrate migration migrations migrator seed db database
	remote registry dockerhub npm pypi maven sonatype nexus s3 gcs aws gcp azure kubernetes k8s helm terraform apply tf exec execute eval shell ssh sudo root
	su admin runner script hook hooks secret secrets login logout auth token upgrade bootstrap setup provision commit tag merge docker image images up down rm remove`)

// taskParts cuts the name of a task: at signs, and before capitals as in assembleDebug.
var taskParts = lazily(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)

// taskName is a name that is no path and no option.
var taskName = lazily(`^:?[A-Za-z0-9]([A-Za-z0-9_.:/+-]*[A-Za-z0-9])?$`)

// isTask reports whether a project builds, tests or checks something by that name: the name, or its last part
// behind a colon, begins with a word for that, and no part of it is a word for what goes out.
func isTask(name string) bool {
	if !taskName.MatchString(name) || strings.Contains(name, "..") {
		return false
	}
	if p := programs()[name]; p != nil && p.wraps && !slices.Contains(taskVerbs, name) {
		return false // a program of that name would run others
	}
	parts := taskParts.FindAllString(name, -1)
	last := taskParts.FindAllString(name[strings.LastIndexByte(name, ':')+1:], -1)
	if len(parts) == 0 || len(last) == 0 {
		return false
	}
	if goesOut(name) {
		return false
	}
	verb := func(p string) bool { return slices.Contains(taskVerbs, strings.ToLower(p)) }
	return verb(parts[0]) || strings.HasPrefix(name, ":") && verb(last[0]) ||
		strings.Contains(name, ":") && verb(last[0])
}

// goesOut reports whether a part of a name is a word for what goes out.
func goesOut(name string) bool {
	return slices.ContainsFunc(taskParts.FindAllString(name, -1), func(part string) bool {
		return slices.Contains(taskOutward, strings.ToLower(part))
	})
}
