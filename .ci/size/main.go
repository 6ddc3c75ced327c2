// Command size prints what each part adds to the program for Linux on amd64, in MB, for one or more checkouts:
//
//	go run ./.ci/size [CHECKOUT...]
//
// Code and data are counted by the symbols of a program that is not stripped, embedded files by their sizes. The tables
// of function names and line numbers have no symbols; they are divided in proportion to the code. What has no symbols
// otherwise is a row of its own.
package main

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// group is a row: a part of the program, and its packages or what their paths begin with. The first group that fits
// counts. Packages of the module itself begin with "./".
type group struct {
	name     string
	prefixes []string
}

// other has what no group names.
const (
	other = "other modules"
	rest  = "type descriptions and strings of all parts, headers"
)

var groups = []group{
	{"wield: dialects, decoder, schemas", []string{"./dialect", "./schema", "./internal/jinja", "./internal/mask"}},
	{"wield: page in the browser", []string{"./internal/web", "./internal/chatpage"}},
	{"wield: MCP", []string{"./internal/mcpserver", "./internal/mcpconnector",
		"./internal/mcpbundle", "./tool/mcp"}},
	{"wield: tools, policy, sandbox", []string{"./tool"}},
	{"wield: gateway, protocols, backends", []string{"./internal/gateway", "./wire", "./model", "./bridge", "./chat",
		"./internal/gemini", "./internal/hosted", "./internal/servertools", "./internal/api"}},
	{"wield: terminal and commands", []string{"./internal/terminal", "./internal/cli", "./cmd", "main"}},
	{"wield: everything else", []string{"."}},
	{"NATS (workers, several services)", []string{"github.com/nats-io/", "github.com/minio/highwayhash",
		"github.com/antithesishq/", "github.com/google/go-tpm", "github.com/klauspost/compress"}},
	{"SQLite", []string{"modernc.org/", "github.com/ncruces/", "github.com/remyoudompheng/", "github.com/dustin/"}},
	{"PostgreSQL driver", []string{"github.com/jackc/"}},
	{"browser control (chromedp)", []string{"github.com/chromedp/", "github.com/gobwas/"}},
	{"MCP SDK", []string{"github.com/modelcontextprotocol/", "github.com/google/jsonschema-go",
		"github.com/segmentio/", "github.com/yosida95/"}},
	{"HTML, text encodings, Markdown", []string{"golang.org/x/text", "golang.org/x/net/html",
		"github.com/JohannesKaufmann/"}},
	{"metrics and traces", []string{"github.com/prometheus/", "google.golang.org/protobuf", "github.com/beorn7/",
		"github.com/cespare/"}},
	{"YAML, TOML, JSON, JSON Schema", []string{"github.com/goccy/", "github.com/BurntSushi/",
		"github.com/go-json-experiment/", "github.com/santhosh-tekuri/"}},
	{"shell parser", []string{"mvdan.cc/"}},
	{"command line", []string{"github.com/spf13/"}},
	{"OAuth and OpenID", []string{"github.com/coreos/", "github.com/go-jose/", "golang.org/x/oauth2"}},
	{"Go: cryptography and TLS", []string{"crypto", "vendor/golang.org/x/crypto", "golang.org/x/crypto"}},
	{"Go: network and HTTP", []string{"net", "vendor/golang.org/x/net", "vendor/golang.org/x/text",
		"golang.org/x/net"}},
	{"Go: runtime", []string{"runtime", "internal/runtime", "internal/abi", "reflect", "sync", "internal/reflectlite",
		"syscall"}},
}

// of returns the row of a package, where own is the path of the module.
func of(pkg, own string) string {
	if rest, ok := strings.CutPrefix(pkg, own); ok && (rest == "" || rest[0] == '/') {
		pkg = "." + rest
	}
	for _, g := range groups {
		for _, p := range g.prefixes {
			if strings.HasPrefix(pkg, p) && (len(pkg) == len(p) || strings.HasSuffix(p, "/") || pkg[len(p)] == '/') {
				return g.name
			}
		}
	}
	if first, _, _ := strings.Cut(pkg, "/"); strings.Contains(first, ".") {
		return other
	}
	return "Go: rest of the standard library"
}

// packageOf returns the package of a symbol, or "" if its name has none.
func packageOf(symbol string) string {
	for _, p := range []string{"type:.eq.", "type:.hash.", "go:itab.", "go:"} {
		symbol = strings.TrimPrefix(symbol, p)
	}
	symbol = strings.TrimLeft(symbol, "*")
	if i := strings.IndexAny(symbol, "([,"); i >= 0 {
		symbol = symbol[:i]
	}
	slash := strings.LastIndex(symbol, "/") + 1
	last, _, ok := strings.Cut(symbol[slash:], ".")
	if !ok {
		return ""
	}
	return strings.ReplaceAll(symbol[:slash]+last, "%2e", ".")
}

// measure returns the size of the stripped program of a checkout, and that of each row.
func measure(checkout string) (int64, map[string]float64, error) {
	dir, err := os.MkdirTemp("", "size")
	if err != nil {
		return 0, nil, err
	}
	defer os.RemoveAll(dir)
	full, stripped := filepath.Join(dir, "full"), filepath.Join(dir, "stripped")
	if _, err := run(checkout, "build", "-trimpath", "-o", full, "./cmd/wield"); err != nil {
		return 0, nil, err
	}
	if _, err := run(checkout, "build", "-trimpath", "-ldflags=-s -w", "-o", stripped, "./cmd/wield"); err != nil {
		return 0, nil, err
	}
	info, err := os.Stat(stripped)
	if err != nil {
		return 0, nil, err
	}
	own, err := run(checkout, "list", "-m")
	if err != nil {
		return 0, nil, err
	}
	own = strings.TrimSpace(own)
	rows, err := symbols(full, own)
	if err != nil {
		return 0, nil, err
	}
	const each = "{{$p := .}}{{range .EmbedFiles}}{{$p.ImportPath}}\t{{$p.Dir}}/{{.}}\n{{end}}"
	files, err := run(checkout, "list", "-deps", "-f", each, "./cmd/wield")
	if err != nil {
		return 0, nil, err
	}
	for line := range strings.Lines(files) {
		pkg, file, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		embedded, err := os.Stat(file)
		if err != nil {
			return 0, nil, err
		}
		rows[of(pkg, own)] += float64(embedded.Size())
	}
	left := float64(info.Size())
	for _, size := range rows {
		left -= size
	}
	rows[rest] = left
	return info.Size(), rows, nil
}

// symbols returns what each row has in code and data, with its share of the tables of functions.
func symbols(file, own string) (map[string]float64, error) {
	program, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer program.Close()
	all, err := program.Symbols()
	if err != nil {
		return nil, err
	}
	rows, code := map[string]float64{}, map[string]float64{}
	var text, tables float64
	for _, section := range program.Sections {
		if section.Name == ".gopclntab" {
			tables += float64(section.Size)
		}
	}
	for _, s := range all {
		if s.Section == elf.SHN_UNDEF || int(s.Section) >= len(program.Sections) {
			continue
		}
		section := program.Sections[s.Section]
		switch pkg := packageOf(s.Name); {
		case s.Name == "go:func.*":
			tables += float64(s.Size)
		case section.Type == elf.SHT_NOBITS || section.Name == ".gopclntab" || pkg == "":
		default:
			row := of(pkg, own)
			rows[row] += float64(s.Size)
			if section.Name == ".text" {
				code[row] += float64(s.Size)
				text += float64(s.Size)
			}
		}
	}
	for row, size := range code {
		rows[row] += tables * size / text
	}
	return rows, nil
}

// run runs the Go command in a checkout, for the system that is measured.
func run(checkout string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = checkout, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	return out.String(), err
}

func main() {
	checkouts := os.Args[1:]
	if len(checkouts) == 0 {
		checkouts = []string{"."}
	}
	var totals []int64
	var columns []map[string]float64
	for _, checkout := range checkouts {
		total, rows, err := measure(checkout)
		if err != nil {
			fmt.Fprintf(os.Stderr, "size: %s: %v\n", checkout, err)
			os.Exit(1)
		}
		totals, columns = append(totals, total), append(columns, rows)
	}
	var names []string
	for name := range columns[len(columns)-1] {
		names = append(names, name)
	}
	last := columns[len(columns)-1]
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(last[b], last[a]), cmp.Compare(a, b)) })
	fmt.Print("| program, stripped |")
	for _, total := range totals {
		fmt.Printf(" %.1f |", float64(total)/1e6)
	}
	for _, name := range names {
		fmt.Printf("\n| %s |", name)
		for _, rows := range columns {
			fmt.Printf(" %.1f |", rows[name]/1e6)
		}
	}
	fmt.Println()
}
