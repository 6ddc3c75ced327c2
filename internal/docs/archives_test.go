//go:build unix

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"wield/internal/testlevel"
)

// archives makes archives and bundles, and the manifest of Windows, as a release does, but of programs that are only a
// header.
const archives = `
set -euo pipefail
work=$PWD/work out=$PWD/out version=1.2.3 url=https://example.com/wield homepage=https://example.com
export SOURCE_DATE_EPOCH=1700000000 TZ=UTC LC_ALL=C
mkdir -p "$out" "$work/shared/man" "$work/shared/completions"
build() {
	mkdir -p "$(dirname "$3")"
	case $1/$2 in
	windows/amd64) { printf 'MZ%58s@\0\0\0PE\0\0\144\206' ''; } >"$3" ;;
	windows/arm64) { printf 'MZ%58s@\0\0\0PE\0\0\144\252' ''; } >"$3" ;;
	*/amd64) printf '\317\372\355\376\007\000\000\001' >"$3" ;;
	*/arm64) printf '\317\372\355\376\014\000\000\001' >"$3" ;;
	esac
	chmod 755 "$3"
}
cd "$here/../.."
cp -r LICENSE README.md CHANGELOG.md SKILL.md llms.txt docs examples "$work/shared/"
for page in wield wield-serve; do printf '.TH wield' | gzip -n >"$work/shared/man/$page.1.gz"; done
for shell in bash zsh fish powershell; do echo complete >"$work/shared/completions/wield.$shell"; done
eval "${spoil:-}"
for target in ${targets}; do
	archive "${target%/*}" "${target#*/}"
	bundle "${target%/*}" "${target#*/}"
done
filled "$here/wield.json" >"$out/wield.json"
eval "${late:-}"
python3 "$here/check.py" "$out"
`

// TestArchives checks that what a release packs is found right, and that each fault is found.
func TestArchives(t *testing.T) {
	testlevel.Long(t)
	for _, program := range []string{"bash", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("archives are made with %s, which is not here", program)
		}
	}
	here := filepath.Join(checkout(t), ".ci", "packaging")
	script, err := os.ReadFile(filepath.Join(here, "..", "release"))
	if err != nil {
		t.Fatal(err)
	}
	_, functions, _ := strings.Cut(string(script), "\n# packed FILE")
	functions, _, ok := strings.Cut(functions, "\nprogram nfpm ")
	if !ok {
		t.Fatal(".ci/release has another form")
	}
	for _, c := range []struct{ name, targets, spoil, late, fault string }{
		{"right", "darwin/arm64 windows/amd64 windows/arm64", "", "", ""},
		{"contents", "windows/amd64 windows/arm64",
			`rm "$work/shared/llms.txt" "$work/shared/docs/"*.png "$work/shared/docs/policy.md"
eval "real_$(declare -f build)"
build() { real_build $1 arm64 "$3"; }`, "",
			"lacks llms.txt|links to policy.md, which is not in the archive|wield.exe is not for amd64"},
		{"manifest", "windows/amd64 windows/arm64", `rm "$work/shared/docs/"*.png`,
			`sed -i '/amd64/s/"extract_dir": "wield_/"extract_dir": "x/' "$out/wield.json"
sed -i 's/"hash": "./"hash": "x/; s|https://example.com"|HOMEPAGE"|' "$out/wield.json"`,
			"extracts another directory|has another sum|has gaps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "bash", "-c", "# packed FILE"+functions+archives)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "here="+here, "targets="+c.targets, "spoil="+c.spoil, "late="+c.late)
			said, err := cmd.CombinedOutput()
			if (err == nil) != (c.fault == "") {
				t.Errorf("%v:\n%s", err, said)
			}
			for fault := range strings.SplitSeq(c.fault, "|") {
				if !strings.Contains(string(said), fault) {
					t.Errorf("%q is not found:\n%s", fault, said)
				}
			}
		})
	}
}
