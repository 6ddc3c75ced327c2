package eval

import (
	"encoding/json"
	"io"
)

// scored is one row with what became of it.
type scored struct {
	row           *Row
	calls         []ComparedCall
	strict, loose bool // the calls are those of gold
}

func score(row *Row, tools []toolRow, calls []ComparedCall) scored {
	s := scored{row: row, calls: calls}
	if row.Category == relevance || row.Gold == nil {
		return s
	}
	want, got := readCalls(row.Gold), readCalls(calls)
	s.strict = matcher{}.calls(want, got)
	s.loose = s.strict || matcher{required: required(tools), loose: true}.calls(want, got)
	return s
}

// A Cell counts call rows. Oracle rows, whose right reading was chosen with the answer known, count in Rows, Strict
// and Loose only.
type Cell struct {
	Rows       int `json:"rows"`
	Official   int `json:"official"`     // that the leaderboard's own decoder and checker took as right
	Strict     int `json:"strict"`       // matched
	Loose      int `json:"loose"`        // matched
	Gold       int `json:"gold"`         // with gold, oracle rows apart
	GoldStrict int `json:"gold_strict"`  // of Gold, matched
	GoldLoose  int `json:"gold_loose"`   // of Gold, matched
	Wrong      int `json:"wrong"`        // of Gold, officially wrong
	Recovered  int `json:"recovered"`    // of Wrong, matched
	Lost       int `json:"lost"`         // officially right and not matched, loose
	LostStrict int `json:"lost_strict"`  // the same, strict
	Oracle     int `json:"oracle"`       // oracle rows
	OracleOK   int `json:"oracle_loose"` // of Oracle, matched
}

func (c *Cell) add(s *scored) {
	oracle := s.row.GoldBy == "oracle"
	gold := s.row.Gold != nil && !oracle
	official := s.row.OfficialOK
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	c.Rows++
	count(&c.Official, official)
	count(&c.Strict, s.strict)
	count(&c.Loose, s.loose)
	count(&c.Gold, gold)
	count(&c.GoldStrict, gold && s.strict)
	count(&c.GoldLoose, gold && s.loose)
	count(&c.Wrong, gold && !official)
	count(&c.Recovered, gold && !official && s.loose)
	count(&c.Lost, official && !s.loose)
	count(&c.LostStrict, official && !s.strict)
	count(&c.Oracle, oracle)
	count(&c.OracleOK, oracle && s.loose)
}

// A NoCall counts rows that want no call, of one class.
type NoCall struct {
	Rows     int `json:"rows"`
	None     int `json:"none"`     // in which no call was found
	Official int `json:"official"` // in which the leaderboard's decoder found none
}

// A Source counts the call rows whose gold came about in one way.
type Source struct {
	Rows   int `json:"rows"`
	Strict int `json:"strict"`
	Loose  int `json:"loose"`
}

// A Report is the outcome of a measurement.
type Report struct {
	Total      Cell                        `json:"total"`
	Models     map[string]*Cell            `json:"models"`
	Categories map[string]*Cell            `json:"categories"`
	Cells      map[string]map[string]*Cell `json:"cells"` // by model and category
	NoCalls    map[string]*NoCall          `json:"no_calls"`
	GoldBy     map[string]*Source          `json:"gold_by"`
}

func newReport() *Report {
	return &Report{
		Models:     make(map[string]*Cell),
		Categories: make(map[string]*Cell),
		Cells:      make(map[string]map[string]*Cell),
		NoCalls:    make(map[string]*NoCall),
		GoldBy:     make(map[string]*Source),
	}
}

// get returns the entry of m, made if there is none.
func get[T any](m map[string]*T, key string) *T {
	v := m[key]
	if v == nil {
		v = new(T)
		m[key] = v
	}
	return v
}

func (r *Report) add(s *scored, fails io.Writer) error {
	row := s.row
	if row.Category == relevance {
		r.addRelevance(s)
		return nil
	}
	if r.Cells[row.Model] == nil {
		r.Cells[row.Model] = make(map[string]*Cell)
	}
	for _, c := range []*Cell{&r.Total, get(r.Models, row.Model), get(r.Categories, row.Category),
		get(r.Cells[row.Model], row.Category)} {
		c.add(s)
	}
	if row.Gold == nil {
		return nil
	}
	g := get(r.GoldBy, row.GoldBy)
	g.Rows++
	if s.strict {
		g.Strict++
	}
	if s.loose {
		g.Loose++
	}
	if s.loose || fails == nil {
		return nil
	}
	return writeFail(fails, s)
}

// addRelevance counts a row that asks only whether there is a call.
func (r *Report) addRelevance(s *scored) {
	n := get(r.NoCalls, s.row.RelevanceClass)
	n.Rows++
	if len(s.calls) == 0 {
		n.None++
	}
	if s.row.OfficialOK {
		n.Official++
	}
}

// writeFail writes a row that was not matched as a JSON line.
func writeFail(w io.Writer, s *scored) error {
	got := make([]ComparedCall, len(s.calls))
	for i, c := range s.calls {
		if got[i] = c; !json.Valid(c.Arguments) {
			got[i].Arguments = json.RawMessage("null")
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		ID         string          `json:"id"`
		Category   string          `json:"category"`
		GoldBy     string          `json:"gold_by"`
		OfficialOK bool            `json:"official_ok"`
		Text       string          `json:"text"`
		Tools      json.RawMessage `json:"tools"`
		Gold       []ComparedCall  `json:"gold"`
		Got        []ComparedCall  `json:"got"`
	}{s.row.ID, s.row.Category, s.row.GoldBy, s.row.OfficialOK, s.row.Text, s.row.Tools, s.row.Gold, got})
}
