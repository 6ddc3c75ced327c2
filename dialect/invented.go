package dialect

import (
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"wield/dialect/internal/chars"
)

// A model that goes on past its turn does so in more styles than a table can hold. What they share shows when a call
// begins: before it stand two lines, or two places of its line, that differ in the party which speaks and in nothing
// else. That is a turn which the model invented if the call is what the second party says, if the model asked before
// it, or the first party consents. Else it is one unless something leads to it as to a conversation that is shown, or
// the lines belong to a list of keys. Where the model asks for itself again, such a conversation has ended.

// maxInvented limits the bytes before a call that are looked at.
const maxInvented = 256

// A party is a word for who speaks, in small letters.
type party struct {
	name string
	own  bool // it is the model
}

// parties are those words by their length.
var parties = [...][]party{
	2: {{"ai", true}, {"me", true}},
	3: {{"you", false}, {"bot", true}, {"gpt", true}},
	4: {{"user", false}},
	5: {{"human", false}, {"model", true}, {"agent", true}},
	6: {{"system", false}, {"client", false}, {"person", false}},
	7: {{"chatbot", true}},
	8: {{"customer", false}, {"operator", false}},
	9: {{"assistant", true}, {"developer", false}},
}

// initials has a bit for each byte that is a letter, and others for the lengths of the parties that begin with it.
var initials = func() (t [256]uint16) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = 1, 1
	}
	for n, list := range parties {
		for _, p := range list {
			t[p.name[0]] |= 1 << n
			t[p.name[0]-'a'+'A'] |= 1 << n
		}
	}
	return t
}()

// partyOf returns the party that a word names, or nil.
func partyOf(word string) *party {
	if len(word) >= len(parties) {
		return nil
	}
	for k := range parties[len(word)] {
		if p := &parties[len(word)][k]; strings.EqualFold(p.name, word) {
			return p
		}
	}
	return nil
}

// A speaker is a place that names a party.
type speaker struct {
	at     int    // where its line begins, or what stands before the name in the middle of one
	to     int    // where the name ends
	before string // what stands before the name, digits apart
	after  string // what stands behind it on its line
	*party
	inLine bool // it stands in the middle of a line
}

// inventedTurn looks in text, which a call follows, for a turn of another party, and returns where that begins and how
// it is marked. The answer has called before the text or not, and shows conversations in styles, a bit for each of
// roleStyles.
func inventedTurn(text string, called bool, styles uint64) (at int, marker string, ok bool) {
	speakers := speakersIn(text)
	var shown *speaker
	meant := false // a conversation is the model's own: only behind another question can one be invented
	for k := range speakers {
		s := &speakers[k]
		if s.own {
			continue
		}
		before := trimLine(text[:s.at])
		again := asksAgain(before, s.before, s.behind())
		if !again && (meant || shown != nil && shown.before == s.before) {
			continue
		}
		l := preamble{called: called || asks(before), seen: before != "" || len(text) < maxInvented}
		l.shows = introduces(bottomLine(before)) || !called && !again && s.hasStyle(styles)
		for _, reply := range slices.Backward(speakers[k+1:]) {
			sign, replied := sameStyle(s, &reply)
			if !replied || !reply.own {
				continue
			}
			if l.invents(text, s, &reply, sign) {
				return s.at, strings.TrimSpace(text[s.at : s.to+len(sign)]), true
			}
			if !l.shows {
				meant = true
			} else if !called {
				shown = s
			}
			break
		}
		if sign := signOf(s.after); sign != "" && l.called && !l.shows && !s.inLine && consents(s.after[len(sign):]) {
			return s.at, strings.TrimSpace(text[s.at : s.to+len(sign)]), true
		}
	}
	return 0, "", false
}

// behind returns what shows where the name of s ends: signs, the end of its line, a blank.
func (s *speaker) behind() string {
	switch sign := signOf(s.after); {
	case sign != "":
		return sign
	case strings.TrimSpace(s.after) == "":
		return "\n"
	}
	return " "
}

// hasStyle reports whether a line is in one of styles, a bit for each of roleStyles.
func (s *speaker) hasStyle(styles uint64) bool {
	for ; styles != 0; styles &= styles - 1 {
		style := &roleStyles[bits.TrailingZeros64(styles)-1]
		if s.before == style.before && strings.HasPrefix(s.after+"\n", style.after) {
			return true
		}
	}
	return false
}

// A preamble describes the text before a line of another party.
type preamble struct {
	called bool // the model called, or asks for what the party says
	shows  bool // it leads to a conversation that is shown
	seen   bool // it is all there
}

// invents reports whether s and reply, who speak in text before a call, are a turn of another party and the model's
// answer to it.
func (l preamble) invents(text string, s, reply *speaker, sign string) bool {
	evident := l.called || consents(text[s.to+len(sign):])
	said := text[reply.to+len(sign):]
	switch {
	case s.inLine:
		return evident && !l.shows && !strings.Contains(strings.TrimSpace(text[s.at:]), "\n")
	case l.shows, strings.TrimSpace(text[s.to+len(sign):reply.at]) == "":
		return false
	case evident, saysNothing(said):
		return true
	case !l.seen && strings.Contains(strings.TrimRight(said, " \t"), "\n\n"): // the conversation has ended
		return false
	}
	return isSentence(said) && !hasKeys(text[s.at:])
}

// isSentence reports whether the first line of text that has a word is a sentence: it begins and ends as one, or says
// who speaks and to whom.
func isSentence(text string) bool {
	text = strings.TrimLeftFunc(text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	line, _, _ := strings.Cut(text, "\n")
	first, _ := utf8.DecodeRuneInString(line)
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(line, " \t\r*_)\"'”’"))
	return !unicode.IsLower(first) && strings.ContainsRune(".!?…:。！？：", last) || hasWord(line, spokenWords)
}

// spokenWords are words of who speaks and is spoken to.
var spokenWords = []string{"i", "me", "my", "we", "you", "your"}

// hasWord reports whether a word of text is one of words, which are sorted.
func hasWord(text string, words []string) bool {
	letters := func(c rune) bool { return !unicode.IsLetter(c) }
	return slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(text), letters), func(word string) bool {
		_, is := slices.BinarySearch(words, word)
		return is
	})
}

// showWords are words of a line that leads to a conversation which is shown.
var showWords = []string{"act", "chat", "chats", "conversation", "conversations", "dialog", "dialogs", "dialogue",
	"dialogues", "example", "examples", "exchange", "faq", "follows", "format", "formats", "interview", "like", "log",
	"logs", "minutes", "play", "plays", "prompt", "prompts", "role", "roles", "sample", "samples", "scene", "scenes",
	"script", "scripts", "sketch", "speak", "story", "talk", "template", "templates", "thread", "transcript",
	"transcripts"}

// introduces reports whether a line leads to a conversation that is shown: with a colon, as a heading, or with a word
// for one.
func introduces(line string) bool {
	return strings.HasSuffix(line, ":") || !asks(line) && (strings.HasPrefix(line, "#") || hasWord(line, showWords))
}

// saysNothing reports whether s has no words: at most the tag or the code fence at its end with which the call begins.
func saysNothing(s string) bool {
	s = strings.TrimSpace(s)
	if n := strings.LastIndexAny(s, "`<["); n >= 0 && !strings.ContainsAny(s[n:], " \n") {
		s = s[:n]
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) })
}

// speakersIn returns the places in text that name a party, in order.
func speakersIn(text string) (list []speaker) {
	for i := behindFences(text); i < len(text); i++ {
		from := i
		for i < len(text) && initials[text[i]] != 0 {
			i++
		}
		n := i - from
		if n == 0 || n >= len(parties) || initials[text[from]]&(1<<n) == 0 {
			continue
		}
		p := partyOf(text[from:i])
		if p == nil || i < len(text) && text[i] == '_' && (from == 0 || chars.IsBlank(text[from-1])) {
			continue
		}
		line, end := strings.LastIndexByte(text[:from], '\n')+1, strings.IndexByte(text[i:], '\n')
		if end < 0 {
			end = len(text) - i
		}
		s := speaker{at: line, to: i, after: text[i : i+end], party: p}
		if n := len(list); from-line > maxBlank/2 || n > 0 && list[n-1].to > line ||
			line == 0 && len(text) == maxInvented {
			s.inLine, s.at = true, strings.LastIndexAny(text[:from], " \t\n")+1
		}
		if s.before = withoutDigits(text[s.at:from]); s.inLine && len(s.before) > 4 ||
			strings.Contains(s.before, "|>") || strings.HasPrefix(s.before, "    ") ||
			strings.HasPrefix(s.before, "\t") || endsInWord(s.before) {
			// behind a token it is for turnMark to say, what is indented is code, and behind a word a sentence goes on
			continue
		}
		list = append(list, s)
	}
	return list
}

// endsInWord reports whether a word stands at the end of text or before the blanks there.
func endsInWord(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, " \t"))
	return unicode.IsLetter(last)
}

// behindFences returns where the last code fence in text ends: what it shows is no turn.
func behindFences(text string) (end int) {
	for _, marks := range [...]string{"```", "~~~"} {
		for at, open := 0, false; ; open = !open {
			n := strings.Index(text[at:], marks)
			if n < 0 {
				break
			}
			if at += n + len(marks); open {
				end = max(end, at)
			}
		}
	}
	return end
}

// hasKeys reports whether a line of text has a key and a value, and names no party.
func hasKeys(text string) bool {
	for line := range strings.Lines(text) {
		key, _, keyed := strings.Cut(line, ": ")
		if keyed && !strings.ContainsAny(key, ".,;!?") && len(speakersIn(line)) == 0 {
			return true
		}
	}
	return false
}

func withoutDigits(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsDigit(c) {
			return '0'
		}
		return c
	}, s)
}

// sameStyle reports whether two places name their parties in the same way, and what stands behind both names that shows
// it: a colon, a dash, brackets, the end of the line.
func sameStyle(s, t *speaker) (sign string, same bool) {
	if s.inLine != t.inLine || s.before != t.before {
		return "", false
	}
	a, b := withoutDigits(s.after), withoutDigits(t.after)
	n := common(a, b)
	sign = signOf(a[:n])
	switch last, _ := utf8.DecodeLastRuneInString(s.before); {
	case sign != "":
		return s.after[:len(sign)], true
	case strings.TrimSpace(s.after+t.after) == "":
		return "", !s.inLine
	case s.before != "" && isSign(last):
		return "", true
	}
	return "", false
}

// signOf returns what of s, which stands behind a name, belongs to that: all up to the last sign that no sentence has.
func signOf(s string) string {
	end := 0
	for i, c := range s {
		if isSign(c) {
			end = i + utf8.RuneLen(c)
		}
	}
	return s[:end]
}

func isSign(c rune) bool {
	return c != utf8.RuneError && !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsSpace(c) &&
		!strings.ContainsRune(".,;!?'’", c)
}

// askWords are words of a sentence that asks for a consent.
var askWords = []string{"confirm", "approv", "permission", "consent", "let me know", "tell me", "shall i", "should i",
	"your answer", "your reply", "your decision", "want me to", "go ahead", "proceed"}

// asks reports whether the last line of text has a question, or asks for a consent.
func asks(text string) bool {
	text = strings.ToLower(bottomLine(trimLine(text)))
	return strings.ContainsAny(text, "?？") ||
		slices.ContainsFunc(askWords, func(word string) bool { return strings.Contains(text, word) })
}

// asksAgain reports whether text ends with a paragraph in which the model asks for itself: it is no turn of a
// conversation whose lines have before and after around the names.
func asksAgain(text, before, after string) bool {
	text, after = trimLine(strings.ReplaceAll(text, "\r", "")), strings.TrimPrefix(after, "\r")
	n := strings.LastIndex(text, "\n\n")
	if n < 0 || !asks(text) {
		return false
	}
	first, _, _ := strings.Cut(text[n+2:], "\n")
	_, turn := turnOf(first, before, after)
	said, named := turnOf(bottomLine(trimLine(text[:n])), before, after)
	return !turn && (!named || said != "") // behind a name alone the paragraph is what the party says
}

// turnOf returns what is said on a line of a party, whose name is one word with before and after around it. With
// nothing around it the word has to name a party that is known.
func turnOf(line, before, after string) (said string, ok bool) {
	line, ok = strings.CutPrefix(withoutDigits(line)+"\n", withoutDigits(before))
	name, said, named := strings.Cut(line, withoutDigits(after))
	if !ok || !named || name == "" || strings.ContainsAny(name, " .,;!?") {
		return "", false
	}
	return strings.TrimSpace(said), before != "" || strings.TrimSpace(after) != "" || partyOf(name) != nil
}

// bottomLine returns the last line of text.
func bottomLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// consentWords lists the first words of a consent.
var consentWords = []string{"yes", "yeah", "yep", "y", "ok", "okay", "sure", "go", "go ahead", "do it", "please do",
	"confirm", "confirmed", "i confirm", "approved", "i approve", "proceed", "continue", "delete", "remove", "please",
	"correct", "right", "that is right", "that's right", "i am sure", "i'm sure", "of course",
	"absolutely", "agreed", "thanks", "thank you", "great", "perfect", "good", "fine", "ja", "sí", "si", "oui", "是",
	"好"}

// consents reports whether text begins with a consent.
func consents(text string) bool {
	text = strings.TrimLeftFunc(text, func(c rune) bool { return !unicode.IsLetter(c) })
	for _, word := range consentWords {
		if len(text) < len(word) || !strings.EqualFold(text[:len(word)], word) {
			continue
		}
		next, _ := utf8.DecodeRuneInString(text[len(word):])
		if len(text) == len(word) || !unicode.IsLetter(next) && next != '\'' && next != ':' {
			return true
		}
	}
	return false
}
