package builtin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"wield/tool"
	"wield/tool/files"
	"wield/tool/policy"
)

// Bounds of a search.
const (
	matches     = 100
	mostMatches = 1000
	matchBytes  = 400     // of a line that is shown
	longLine    = 1 << 20 // what is behind it on a line is not searched
)

type searchInput struct {
	Query   string        `json:"query" jsonschema:"text to find (case-sensitive), or an RE2 regular expression if options.regex is true"`
	Options searchOptions `json:"options,omitzero" jsonschema:"how to search"`
}

type searchOptions struct {
	Regex      bool   `json:"regex,omitempty" jsonschema:"treat query as a regular expression"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"ignore case"`
	Path       string `json:"path,omitempty" jsonschema:"directory or file to search, relative to the workspace"`
	Glob       string `json:"glob,omitempty" jsonschema:"glob for file names, such as *.go or src/**/*.ts"`
	Max        int    `json:"max_results,omitempty" jsonschema:"maximum number of matching lines. Default: 100"`
}

type searchOutput struct {
	Matches   []match `json:"matches"`
	Count     int     `json:"count"`
	Truncated bool    `json:"truncated,omitempty"` // there are more
	Withheld  int     `json:"withheld,omitempty"`  // files that may not be read and were not searched
}

type match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

func searchCode(o *Options) *tool.Tool {
	t := tool.Stream("search_code",
		`Search text files line by line. Skips hidden files, binary files, and files that .gitignore excludes. `+
			`Example: {"query": "func main", "options": {"glob": "**/*.go"}}`,
		func(ctx context.Context, c *tool.Call, in searchInput) (searchOutput, error) {
			root, err := workspace(c, o)
			if err != nil {
				return searchOutput{}, err
			}
			defer root.Close()
			return search(ctx, c, o, root, in)
		})
	t.Facts = tool.Facts{Paths: []tool.PathFact{{Argument: "options.path", Op: policy.OpList, OfFile: policy.OpRead,
		Default: "."}}, ReadOnly: true}
	t.Idempotent = true
	return t
}

// A searcher looks through files.
type searcher struct {
	call   *tool.Call
	root   *files.Root
	re     *regexp.Regexp
	glob   string
	most   int
	ignore ignored
	grep   *grep // nil: files are searched as the walk comes by
	after  int   // files before grep is used
	batch  []candidate
	names  int // bytes of the names in batch
	out    searchOutput
}

// A candidate is a file that the walk came by.
type candidate struct {
	name     string
	sure     bool // it is searched: nobody is asked first whether it can have a match
	withheld bool // it may not be read
}

func search(ctx context.Context, c *tool.Call, o *Options, root *files.Root, in searchInput) (searchOutput, error) {
	expr := in.Query
	if !in.Options.Regex {
		expr = regexp.QuoteMeta(expr)
	}
	if in.Options.IgnoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	switch {
	case in.Query == "":
		return searchOutput{}, tool.Errorf(tool.ErrInvalid, "query is empty")
	case err != nil:
		return searchOutput{}, tool.Errorf(tool.ErrInvalid, "query is no regular expression: %w", err)
	case in.Options.Glob != "" && !doublestar.ValidatePattern(in.Options.Glob):
		return searchOutput{}, tool.Errorf(tool.ErrInvalid, "options.glob: %q is no glob", in.Options.Glob)
	}
	s := &searcher{call: c, root: root, re: re, glob: in.Options.Glob, most: in.Options.Max}
	if s.most <= 0 || s.most > mostMatches {
		s.most = matches
	}
	s.out.Matches = []match{}
	if s.after = o.grepAfter; s.after >= 0 {
		s.grep = newGrep(c, root.Path(), expr)
	}
	at := in.Options.Path
	if at == "" {
		at = "."
	}
	name, err := root.Rel(at)
	if err != nil {
		return searchOutput{}, fileError(err)
	}
	info, err := root.Stat(name)
	if err != nil {
		return searchOutput{}, fileError(err)
	}
	switch {
	case info.IsDir():
		err = s.walk(ctx, name)
	case !c.May(policy.OpRead, name):
		err = &tool.Error{Kind: tool.ErrSecurity, Message: "the policy does not let " + name + " be read"}
	default:
		err = s.file(ctx, name)
	}
	s.out.Count = len(s.out.Matches)
	return s.out, err
}

func (s *searcher) walk(ctx context.Context, dir string) error {
	s.ignore.above(s.root, dir)
	descend := func(e files.Entry) bool {
		if hidden(e.Name) || s.ignore.match(e.Name, true) {
			return false
		}
		s.ignore.enter(s.root, e.Name)
		return true
	}
	for e, err := range s.root.Walk(ctx, dir, descend) {
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue // a directory that cannot be read has no matches
		}
		if !e.Info.Mode().IsRegular() || hidden(e.Name) || s.ignore.match(e.Name, false) ||
			!s.wanted(below(dir, e.Name)) {
			continue
		}
		if !s.call.May(policy.OpRead, e.Name) {
			s.batch = append(s.batch, candidate{withheld: true})
			continue
		}
		if err := s.add(ctx, e); err != nil || s.out.Truncated {
			return err
		}
	}
	return s.flush(ctx)
}

// add searches a file, or keeps it to be searched with others.
func (s *searcher) add(ctx context.Context, e files.Entry) error {
	if s.after--; s.grep == nil || s.after > 0 {
		s.batch = append(s.batch, candidate{name: e.Name, sure: true})
		return s.flush(ctx)
	}
	s.batch = append(s.batch, candidate{name: e.Name, sure: e.Info.Size() > grepSize})
	if s.names += len(e.Name) + len("./\x00"); s.names < grepNames && len(s.batch) < grepFiles {
		return nil
	}
	return s.flush(ctx)
}

// flush searches the files that have been kept, in order, as far as they may have a match. One that cannot be read
// has none.
func (s *searcher) flush(ctx context.Context) error {
	var names []string
	for _, c := range s.batch {
		if !c.sure && !c.withheld {
			names = append(names, c.name)
		}
	}
	var found map[string]bool
	asked := false
	if len(names) > 0 {
		if found, asked = s.grep.candidates(ctx, names); !asked {
			s.grep = nil // from here on without it
		}
	}
	for _, c := range s.batch {
		switch {
		case c.withheld:
			s.out.Withheld++
			continue
		case asked && !c.sure && !found[c.name]:
			continue
		}
		if err := s.file(ctx, c.name); err != nil && ctx.Err() != nil {
			return err
		}
		if s.out.Truncated {
			return nil
		}
	}
	s.batch, s.names = s.batch[:0], 0
	return nil
}

// wanted reports whether a file's name matches the glob. One without a slash is about the last part of a name.
func (s *searcher) wanted(name string) bool {
	switch {
	case s.glob == "":
		return true
	case !strings.Contains(s.glob, "/"):
		name = path.Base(name)
	}
	return doublestar.MatchUnvalidated(s.glob, name)
}

// file looks through one file. Of a very long line only the beginning is in memory.
func (s *searcher) file(ctx context.Context, name string) error {
	f, err := s.root.Open(name)
	if err != nil {
		return fileError(err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	if head, _ := r.Peek(8 << 10); !files.IsText(head) {
		return nil
	}
	var line []byte
	for n := 1; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		line, err = appendLine(line[:0], r)
		if len(line) > 0 || err == nil {
			s.look(name, n, line)
			if s.out.Truncated {
				return nil
			}
		}
		if err != nil {
			if err == io.EOF {
				return nil
			}
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

// appendLine reads a line without its end. What is behind longLine bytes is passed over.
func appendLine(dst []byte, r *bufio.Reader) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(dst) < longLine {
			dst = append(dst, part[:min(len(part), longLine-len(dst))]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimRight(dst, "\r\n"), err
	}
}

func (s *searcher) look(name string, n int, line []byte) {
	at := s.re.FindIndex(line)
	if at == nil {
		return
	}
	if len(s.out.Matches) == s.most {
		s.out.Truncated = true
		return
	}
	s.out.Matches = append(s.out.Matches, match{Path: name, Line: n, Text: around(line, at[0])})
}

// around returns the part of a line around a match.
func around(line []byte, at int) string {
	from := 0
	if at > matchBytes/2 && len(line) > matchBytes {
		from = min(at-matchBytes/4, len(line)-matchBytes)
	}
	to := min(from+matchBytes, len(line))
	for from > 0 && from < len(line) && !utf8.RuneStart(line[from]) {
		from++
	}
	for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
		to--
	}
	text := strings.ToValidUTF8(string(line[from:to]), "�")
	if from > 0 {
		text = "..." + text
	}
	if to < len(line) {
		text += "..."
	}
	return text
}
