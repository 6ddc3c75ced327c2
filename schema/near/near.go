// Package near finds the name that was meant by one that is nearly right.
package near

import (
	"fmt"
	"strings"
)

// longest is the length of the longest word that is looked at: nobody mistypes a longer one.
const longest = 64

// Name returns the candidate that is written most like word, or "" when none is.
func Name(word string, candidates []string) string {
	word = strings.ToLower(word)
	best, least := "", 1+max(1, len(word)/3)
	for _, c := range candidates {
		if d := distance(word, strings.ToLower(c), least); d < least {
			best, least = c, d
		}
	}
	return best
}

// Hint returns "; did you mean X?" for the candidate that is written most like word, or "".
func Hint(word string, candidates []string) string {
	best := Name(word, candidates)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance returns how many bytes must be added, removed, changed or swapped with their neighbour to make b of a; at
// least limit if it is more than that.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit || len(a) > longest || len(b) > longest {
		return limit
	}
	var rows [3][longest + 1]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur, up, up2 := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(up[j]+1, cur[j-1]+1, up[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], up2[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
