package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"wield/chat"
)

// A fingerprint stands for a call or a result, so that two can be compared.
type fingerprint [sha256.Size]byte

// A streak counts how often one call was made, in a row, with one result.
type streak struct {
	count  int // results that were the same
	result fingerprint
}

// blocked begins the result of a call that the guard did not let run; repeated begins the note on one that it did.
const (
	blocked  = "Not run: "
	repeated = "Note: "
)

// blockedText is the result of a call that is blocked because it is the n-th of its kind.
func blockedText(n int) string {
	return blocked + fmt.Sprintf("this is the same call for the %s time, and its result was the same each time. "+
		"Do something else, or answer with what you have.", ordinal(n))
}

// repeatedText is added to the result of the n-th call of its kind.
func repeatedText(n int) string {
	return repeated + fmt.Sprintf("this is the same call for the %s time. If the result is the same again, more of "+
		"them will not be run.", ordinal(n))
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n, suffix)
}

// fingerprintCall returns the fingerprint of a call: its name and its arguments, however they are written.
func fingerprintCall(c *chat.Call) fingerprint {
	h := sha256.New()
	fmt.Fprintf(h, "%q ", c.Name)
	h.Write(plainJSON(c.Arguments))
	return fingerprint(h.Sum(nil))
}

// plainJSON returns JSON text with sorted keys and without white space. Numbers stay as they are written. What is no
// JSON is returned as it is.
func plainJSON(text string) []byte {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return []byte(text)
	}
	var b bytes.Buffer
	if json.NewEncoder(&b).Encode(v) != nil {
		return []byte(text)
	}
	return b.Bytes()
}

// fingerprintResult returns the fingerprint of a result, without what the guard added to it.
func fingerprintResult(m *chat.Message) fingerprint {
	h := sha256.New()
	for i := range m.Parts {
		if p := &m.Parts[i]; i == 0 || !strings.HasPrefix(p.Text, repeated) {
			fmt.Fprintf(h, "%d %q %q %q %x\n", p.Kind, p.Text, p.URL, p.Raw, p.Data)
		}
	}
	return fingerprint(h.Sum(nil))
}

// isBlocked reports whether a result is one that the guard gave in place of a run.
func isBlocked(m *chat.Message) bool {
	return m.IsError && strings.HasPrefix(m.Text(), blocked)
}
