package eval

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
)

// A Row is one recorded answer.
type Row struct {
	ID             string          `json:"id"`
	Model          string          `json:"model"`
	Category       string          `json:"category"`
	Tools          json.RawMessage `json:"tools"` // in the form of the OpenAI protocol
	Text           string          `json:"text"`
	OfficialOK     bool            `json:"official_ok"`
	Gold           []ComparedCall  `json:"gold"` // nil: no right answer is known
	GoldBy         string          `json:"gold_by"`
	RelevanceClass string          `json:"relevance_class"`
}

// relevance is the category of rows that want no call.
const relevance = "relevance"

// A ComparedCall is a call as it is compared: the arguments are JSON text.
type ComparedCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// toolRow holds the parts of a tool that scoring and decoding need.
type toolRow struct {
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// required returns the names of the required parameters of each tool, by the name as it is compared.
func required(tools []toolRow) map[string]map[string]bool {
	all := make(map[string]map[string]bool, len(tools))
	for _, t := range tools {
		var p struct {
			Required []string `json:"required"`
		}
		if json.Unmarshal(t.Function.Parameters, &p) != nil {
			continue // a schema without a list of strings there requires nothing
		}
		names := make(map[string]bool, len(p.Required))
		for _, n := range p.Required {
			names[n] = true
		}
		all[sameName(t.Function.Name)] = names
	}
	return all
}

// sameName returns the form in which names are compared.
func sameName(name string) string { return strings.ReplaceAll(name, ".", "_") }

// lines yields the lines of a file that are not blank, with their numbers. A name that ends in
// .gz is decompressed.
func lines(name string) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		f, err := os.Open(name)
		if err != nil {
			yield(line{}, err)
			return
		}
		defer f.Close()
		var r io.Reader = f
		if strings.HasSuffix(name, ".gz") {
			if r, err = gzip.NewReader(f); err != nil {
				yield(line{}, fmt.Errorf("%s: %w", name, err))
				return
			}
		}
		b := bufio.NewReaderSize(r, 1<<16)
		for n := 1; ; n++ {
			text, err := b.ReadBytes('\n')
			if len(bytes.TrimSpace(text)) > 0 && !yield(line{name, n, text}, nil) {
				return
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(line{}, fmt.Errorf("%s:%d: %w", name, n, err))
				return
			}
		}
	}
}

type line struct {
	file string
	n    int
	text []byte
}

// row parses a line.
func (l line) row() (*Row, error) {
	var r Row
	if err := json.Unmarshal(l.text, &r); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", l.file, l.n, err)
	}
	if r.ID == "" || r.Model == "" || r.Category == "" {
		return nil, fmt.Errorf("%s:%d: a row needs id, model and category", l.file, l.n)
	}
	return &r, nil
}
