package database

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"wield/tool"
)

// A value is a parameter: what it is in Go, and the text that PostgreSQL reads.
type value struct {
	v    any    // nil, bool, int64, float64, string, []byte
	text []byte // nil: NULL
}

// readValue reads a parameter. A number that SQLite cannot hold exactly is refused rather than rounded.
func readValue(raw json.RawMessage) (value, error) {
	raw = bytes.TrimSpace(raw)
	switch raw[0] {
	case 'n':
		return value{}, nil
	case 't', 'f':
		return value{raw[0] == 't', raw}, nil
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		if strings.ContainsRune(s, 0) {
			return value{}, errors.New("a text with a NUL character; give bytes as {\"base64\": \"..\"}")
		}
		return value{s, []byte(s)}, err
	case '{', '[':
		if b, ok := readBytes(raw); ok {
			return value{b, fmt.Appendf(nil, `\x%x`, b)}, nil
		}
		return value{string(raw), raw}, nil
	}
	text := string(raw)
	if !strings.ContainsAny(text, ".eE") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return value{bigNumber(text), raw}, nil
		}
		return value{n, raw}, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return value{}, fmt.Errorf("%s is out of range", text)
	}
	return value{f, raw}, nil
}

// A bigNumber is a whole number beyond 64 bits. PostgreSQL takes it, SQLite has no place for it.
type bigNumber string

func readBytes(raw []byte) ([]byte, bool) {
	var members map[string]string
	if json.Unmarshal(raw, &members) != nil || len(members) != 1 {
		return nil, false
	}
	text, ok := members["base64"]
	if !ok {
		return nil, false
	}
	b, err := base64.StdEncoding.DecodeString(text)
	return b, err == nil
}

// A collector gathers rows up to the bounds of a request.
type collector struct {
	out     queryResult
	q       *request
	columns int // that are kept
	size    int
}

func newCollector(q *request, columns []string) *collector {
	c := &collector{q: q, columns: min(len(columns), mostColumns)}
	c.out.Columns, c.out.Rows = columns[:c.columns:c.columns], [][]json.RawMessage{}
	if c.out.Columns == nil {
		c.out.Columns = []string{}
	}
	c.out.Truncated = len(columns) > c.columns
	return c
}

// full reports whether no further row is taken, and then notes that there was one.
func (c *collector) full() bool {
	if len(c.out.Rows) < c.q.rows && c.size < mostResult {
		return false
	}
	c.out.Truncated = true
	return true
}

func (c *collector) add(row []json.RawMessage) {
	for _, cell := range row {
		c.size += len(cell) + 1
	}
	c.out.Rows = append(c.out.Rows, row)
	c.out.Count = len(c.out.Rows)
}

// cell writes a value as JSON.
func (c *collector) cell(v any) json.RawMessage {
	switch v := v.(type) {
	case nil:
		return json.RawMessage("null")
	case bool:
		return json.RawMessage(strconv.FormatBool(v))
	case int64:
		return json.RawMessage(strconv.FormatInt(v, 10))
	case float64:
		return float(v)
	case json.RawMessage:
		return v
	case []byte:
		return c.bytes(v)
	case time.Time:
		return c.text(v.Format(time.RFC3339Nano))
	case string:
		return c.text(v)
	}
	return c.text(fmt.Sprint(v))
}

// float writes a number so that it is read back as one with a fraction. What JSON has no number for becomes a text.
func float(f float64) json.RawMessage {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return json.RawMessage(strconv.Quote(strconv.FormatFloat(f, 'g', -1, 64)))
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return json.RawMessage(s)
}

// text writes a text, cut if it is long. One that is no UTF-8 is written as bytes, so that nothing of it is lost.
func (c *collector) text(s string) json.RawMessage {
	if !utf8.ValidString(s) {
		return c.bytes([]byte(s))
	}
	if len(s) > c.q.cell {
		n := c.q.cell
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		c.out.Truncated = true
		s = fmt.Sprintf("%s… (%d of %d bytes)", s[:n], n, len(s))
	}
	return encode(s)
}

// A blob writes bytes.
type blob struct {
	Base64 string `json:"base64"`
	Bytes  int    `json:"bytes"`               // all that there are
	Cut    bool   `json:"truncated,omitempty"` // base64 holds the first of them
}

func (c *collector) bytes(b []byte) json.RawMessage {
	out := blob{Bytes: len(b)}
	if most := c.q.cell / 4 * 3; len(b) > most {
		b, out.Cut, c.out.Truncated = b[:most], true, true
	}
	out.Base64 = base64.StdEncoding.EncodeToString(b)
	return encode(out)
}

// encode writes what always can be written.
func encode(v any) json.RawMessage {
	r, err := tool.JSON(v)
	if err != nil {
		panic(err)
	}
	return r.Data
}

// readHex reads bytes as PostgreSQL writes them.
func readHex(b []byte) any {
	if text, ok := bytes.CutPrefix(b, []byte(`\x`)); ok {
		out := make([]byte, hex.DecodedLen(len(text)))
		if _, err := hex.Decode(out, text); err == nil {
			return out
		}
	}
	return string(b) // the old way of writing them
}
