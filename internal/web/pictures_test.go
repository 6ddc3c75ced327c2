package web_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"wield/internal/browser/chromium"
	"wield/internal/testlevel"
)

var update = flag.Bool("update", false, "take the pictures anew that the page is compared with, and those of the pages")

// kept is where the pictures are, and documented where those that pages show.
const (
	kept       = "testdata/pictures"
	documented = "../../docs"
)

// Conditions are with what pictures were taken. With anything else, letters and lines are drawn a little
// differently, and to compare tells nothing.
type conditions struct {
	Chromium string `json:"chromium"` // its major version
	Arch     string `json:"arch"`
	Font     string `json:"font"` // SHA-256 of the files
}

// probe is a page that has nothing to do with wield. If it looks different here, then everything does.
const probe = `<!doctype html><meta charset="utf-8"><style>body{margin:8px;font:14px/1.5 system-ui,sans-serif}code{font:12.5px monospace}b{font-size:17px}
.a{border:1px solid #8b8d88;border-radius:7px;padding:5px 9px;box-shadow:0 6px 24px #0002}</style><p>The quick brown fox jumps over the lazy dog. 0123456789
<p><b>The quick brown fox jumps over the lazy dog.</b><p><code>func main() { fmt.Println("0123456789") } // ÄÖÜ → ▸</code><p><input value="a field"> <button>a button</button>
<select><option>a choice</select> <input type="checkbox" checked><p class="a">The quick brown fox jumps over the lazy dog.`

// A gallery compares the page with pictures of it that are kept.
type gallery struct {
	t *testing.T
	b *chromium.Browser

	// wait is how long a view may take to look as it should. Once one has not come to that, the others are
	// not waited for as long.
	wait time.Duration
}

// newGallery returns a gallery, or skips the test loudly where pictures of the page would not be the same if
// nothing was wrong with it.
func newGallery(t *testing.T, b *chromium.Browser) *gallery {
	t.Helper()
	g := &gallery{t: t, b: b, wait: patience}
	font, err := fontSum()
	if err != nil {
		t.Skipf("SKIPPED, pictures of the page are not compared: %v", err)
	}
	tab, err := b.Open(t.Context(), "data:text/html,"+url.PathEscape(probe), library)
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	if err := tab.Show(t.Context(), chromium.View{Width: 640, Height: 320, Still: true}); err != nil {
		t.Fatal(err)
	}
	var agent string
	if _, err := tab.Call(t.Context(), &agent, "evaluate",
		"document.fonts.ready.then(() => navigator.userAgent)"); err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`Chrome/(\d+)`).FindStringSubmatch(agent)
	if version == nil {
		t.Fatalf("the browser calls itself %s", agent)
	}
	raw, err := tab.Picture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := conditions{Chromium: version[1], Arch: runtime.GOARCH, Font: font}
	if *update {
		g.begin(now, raw)
		return g
	}
	var then conditions
	text, err := os.ReadFile(filepath.Join(kept, "taken.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &then); err != nil {
		t.Fatal(err)
	}
	if now != then {
		t.Skipf("SKIPPED, pictures of the page are not compared: they were taken with %+v, and here is %+v", then, now)
	}
	want, err := readPNG(filepath.Join(kept, "probe.png"))
	if err != nil {
		t.Fatal(err)
	}
	if share := differs(decoded(t, raw), want); share > alikeShare/5 {
		t.Skipf(
			"SKIPPED, pictures of the page are not compared: a page that is none of wield's looks different here in %.2f %% of its pixels", 100*share)
	}
	return g
}

// begin makes the directory of the pictures anew.
func (g *gallery) begin(now conditions, probe []byte) {
	t := g.t
	if err := os.RemoveAll(kept); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(kept, 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(kept, "taken.json"), append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writePNG(filepath.Join(kept, "probe.png"), few(decoded(t, probe))); err != nil {
		t.Fatal(err)
	}
}

func decoded(t testing.TB, raw []byte) image.Image {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// four are the ways in which each view is looked at.
var four = []struct {
	word          string
	width, height int
	dark          bool
}{{"1440-light", 1440, 900, false}, {"1440-dark", 1440, 900, true}, {"390-light", 390, 844, false},
	{"390-dark", 390, 844, true}}

// show compares a view, wide and narrow, light and dark. Nothing may be wider than the screen.
func (g *gallery) show(s *sheet, name string) {
	s.t.Helper()
	for _, v := range four {
		s.view(v.width, v.height, v.dark)
		s.call(nil, "quiet")
		var wide [2]int
		if s.call(&wide, "wide"); wide[0] > wide[1] {
			s.t.Errorf("%s at %d pixels is %d wide", name, wide[1], wide[0])
		}
		g.compare(s, filepath.Join(kept, name+"-"+v.word+".png"), atBegin)
	}
	s.view(1440, 900, false)
}

// compare compares what is seen with a picture, or takes it, after a script. What is still being painted gets
// some more looks.
func (g *gallery) compare(s *sheet, file, before string) {
	s.t.Helper()
	var want image.Image
	if !*update {
		var err error
		if want, err = readPNG(file); err != nil {
			s.t.Errorf("%v; go test ./internal/web -run TestPictures -update takes it", err)
			return
		}
	}
	var got image.Image
	share := 1.0
	for look, end := 0, time.Now().Add(g.wait); look < 12 || !*update && time.Now().Before(end); look++ {
		if look > 0 {
			time.Sleep(100 * time.Millisecond)
		}
		last := got
		got = s.masked(before)
		switch {
		case !*update:
			share = differs(got, want)
		case last != nil:
			share = differs(got, last)
		}
		if share == 0 || !*update && share <= alikeShare {
			break
		}
	}
	if *update {
		if share > 0 {
			s.t.Errorf("%s does not come to rest", file)
		}
		small := few(got)
		if lost := differs(got, small); lost > 0 {
			s.t.Errorf("%s has too many colours: %.2f %% of its pixels are changed by leaving some out", file, 100*lost)
		}
		if err := writePNG(file, small); err != nil {
			s.t.Error(err)
		}
		return
	}
	if share <= alikeShare {
		return
	}
	g.wait = 0
	name := strings.TrimSuffix(filepath.Base(file), ".png")
	where := "WIELD_PICTURES names a directory for what was seen and the difference"
	if dir := os.Getenv("WIELD_PICTURES"); dir != "" {
		where = "see " + name + "-got.png and " + name + "-diff.png"
		for word, m := range map[string]image.Image{"got": got, "diff": difference(got, want)} {
			if err := writePNG(filepath.Join(dir, name+"-"+word+".png"), m); err != nil {
				s.t.Error(err)
			}
		}
	}
	s.t.Errorf(
		"%s differs in %.2f %% of its pixels, and at most %.1f %% may; %s. If it should look so, go test ./internal/web -run TestPictures -update takes the pictures anew", name, 100*share, 100*alikeShare, where)
}

// masked takes a picture, after a script, in which nothing is seen that another run has differently: times,
// ids, addresses, notices and the caret.
func (s *sheet) masked(before string) image.Image {
	s.t.Helper()
	s.evaluate(nil, before)
	s.evaluate(nil, fmt.Sprintf(masks, filepath.ToSlash(s.w.dir)))
	raw, err := s.tab.Picture(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return decoded(s.t, raw)
}

// atBegin is a script after which everything shows its begin, and a conversation its end.
const atBegin = `document.querySelectorAll('main, main *').forEach((el) => {
  if (el.matches('.stream')) el.scrollTop = el.scrollHeight;
  else if (el.scrollTop > 0) el.scrollTop = 0;
})`

// masks is the script of masked. Bars of a timeline, whose lengths are times, get places by their number.
const masks = `(() => {
  const still = new CSSStyleSheet();
  still.replaceSync('* { caret-color: transparent !important } .toasts { display: none !important }');
  document.adoptedStyleSheets = [still];
  const rules = [
    [/\b(run|ses|apr|call|rul|exc|req|chatcmpl|rsp|msg)_[0-9A-Za-z_-]{6,}/g, '$1_5f0c1a'], [/\b[0-9a-f]{24,}\b/g, '5f0c1a'], [%q, '/srv/shop'], [/127\.0\.0\.1:\d+/g, '127.0.0.1:8400'],
    [/\b[A-Z][a-z]{2} \d{1,2}(, \d{4})?, \d{1,2}:\d{2}(:\d{2})?\s[AP]M/g, 'Mar 4, 9:26 AM'], [/\b\d{2}:\d{2}:\d{2}(\.\d+)?\b/g, '09:26:53'], [/\b\d{4}-\d\d-\d\dT[0-9:.]+Z/g, '2026-03-04T09:26:53Z'],
    [/(< )?\b\d+(\.\d+)? (µs|ms|s|min|h|d)\b( \d+ (s|min)\b)?/g, '12 ms'], [/^now$/g, '12 ms'],
  ];
  const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (all.nextNode()) {
    let text = all.currentNode.data;
    for (const [what, by] of rules) text = text.replaceAll(what, by);
    if (text !== all.currentNode.data) all.currentNode.data = text;
  }
  document.querySelectorAll('.track .bar').forEach((el, i) => { el.style.left = (i * 9) %% 70 + '%%'; el.style.width = '18%%'; });
})()`

// seen are the views that are compared, each of a service of its own.
var seen = []struct {
	name string
	open func(t *testing.T, b *chromium.Browser) *sheet
}{
	{"login", func(t *testing.T, b *chromium.Browser) *sheet {
		s := newWorld(t, plain, nil).open(b, "", "")
		s.wait("label", "Key")
		return s
	}},
	{"chat", func(t *testing.T, b *chromium.Browser) *sheet {
		s := chatWorld(t).open(b, adminKey, "#/chat")
		s.wait("select", "helper")
		s.says("the sum of 1 + 2, please")
		s.click("Approve", ".question")
		s.wait(".said-model code", "the result")
		s.wait(".run:nth-child(1) .foot-line", "What happened")
		s.says("show me markdown")
		s.wait(".markdown", "The end.")
		s.wait(".run:nth-child(2) .foot-line", "What happened")
		return s
	}},
	{"chat-asks", func(t *testing.T, b *chromium.Browser) *sheet {
		s := chatWorld(t).open(b, adminKey, "#/chat")
		s.wait("select", "helper")
		s.says("the sum of 1 + 2, please")
		s.wait(".question")
		s.wait("nav a[data-view=approvals] .mark", "1")
		s.wait(".session-list", "the sum of 1 + 2, please")
		return s
	}},
	{"approvals-edit", func(t *testing.T, b *chromium.Browser) *sheet {
		w := newWorld(t, shop, shopFiles)
		s := w.open(b, adminKey, "#/approvals/"+w.begins("shop", "Open the shop on Sundays."))
		s.wait(".diff", "Sunday: 11:00 to 15:00")
		s.wait("nav a[data-view=approvals] .mark", "1")
		return s
	}},
	{"approvals-command", func(t *testing.T, b *chromium.Browser) *sheet {
		w := newWorld(t, shop, shopFiles)
		first := w.begins("shop", "Open the shop on Sundays.")
		if status := w.ask(adminKey, "POST", "/approvals/"+first, map[string]string{"decision": "allow"},
			nil); status != 200 {
			t.Fatal(status)
		}
		s := w.open(b, adminKey, "#/approvals")
		s.wait(".queue-item", "command_exec")
		s.press("j")
		s.wait(".command", "grep -n Sunday hours.md && wc -l < hours.md")
		s.wait(".keep")
		s.wait("nav a[data-view=approvals] .mark", "1")
		return s
	}},
	{"inspector-list", func(t *testing.T, b *chromium.Browser) *sheet {
		w, _ := curiousWorld(t)
		s := w.open(b, adminKey, "#/inspector")
		s.wait(".inspect-item", "What is six times seven?", "What is it?")
		return s
	}},
	{"inspector-call", func(t *testing.T, b *chromium.Browser) *sheet {
		w, run := curiousWorld(t)
		s := w.open(b, adminKey, "#/inspector/run/"+run+"/1")
		s.wait(".inspect-item", "What is six times seven?", "What is it?")
		s.wait(".split-call", "calculator", "hermes")
		s.wait(".asides", "trailing_comma", "accepted")
		return s
	}},
	{"playground", func(t *testing.T, b *chromium.Browser) *sheet {
		s := newWorld(t, plain, nil).open(b, approverKey, "#/playground")
		s.click("Read")
		s.wait(".split-call", "get_weather", "hermes")
		s.wait(".asides", "coerced", "trailing_comma")
		return s
	}},
	{"analytics", func(t *testing.T, b *chromium.Browser) *sheet {
		w := newWorld(t, plain, nil)
		w.countedEvenly()
		s := w.open(b, adminKey, "#/analytics")
		s.wait(".heat", "qwen3", "llama", "hermes", "raw-json", "function-tag")
		return s
	}},
	{"settings", func(t *testing.T, b *chromium.Browser) *sheet {
		s := newWorld(t, shop, shopFiles).open(b, adminKey, "#/settings")
		s.wait("table", "shop", "trick", "agent", "wield.yaml:")
		return s
	}},
}

// shown are the pictures that pages show.
var shown = []struct {
	file          string
	width, height int
	before        string
	open          func(t *testing.T, b *chromium.Browser) *sheet
}{
	{"approvals.png", 1180, 940, "", func(t *testing.T, b *chromium.Browser) *sheet {
		w := newWorld(t, shop, shopFiles)
		s := w.open(b, adminKey, "#/approvals/"+w.begins("shop", "Open the shop on Sundays."))
		s.wait(".diff", "Sunday: 11:00 to 15:00")
		s.wait("nav a[data-view=approvals] .mark", "1")
		s.press("e")
		s.wait(".form", "new_string")
		s.call(nil, "focus", ".form .field:nth-child(3) input")
		s.write("", "Sunday: noon to two")
		s.wait(".diff", "Sunday: noon to two")
		return s
	}},
	{"inspector.png", 1180, 790, `document.querySelector('.asides').scrollIntoView({block: 'end'})`,
		func(t *testing.T, b *chromium.Browser) *sheet {
			w, run := curiousWorld(t)
			s := w.open(b, adminKey, "#/inspector/run/"+run+"/1")
			s.wait(".inspect-item", "What is six times seven?", "What is it?")
			s.wait(".asides", "trailing_comma", "accepted")
			s.wait(".split-calls .tree-leaf", "6 * 7")
			s.evaluate(nil,
				`[...document.querySelectorAll('.split-calls .tree-leaf')].find((e) => e.innerText.includes('6 * 7')).dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))`)
			s.wait(".split-text .lit")
			return s
		}},
}

// TestPictures compares the views with pictures of them. With -update it takes the pictures.
func TestPictures(t *testing.T) {
	b := only(t) // so that nothing else takes the time in which a view comes to rest
	g := newGallery(t, b)
	for _, v := range seen {
		t.Run(v.name, func(t *testing.T) {
			s := v.open(t, b)
			g.show(s, v.name)
			s.tab.Close()
		})
	}
	for _, v := range shown {
		t.Run(v.file, func(t *testing.T) {
			s := v.open(t, b)
			s.view(v.width, v.height, false)
			s.call(nil, "quiet")
			g.compare(s, filepath.Join(documented, v.file), v.before)
			s.tab.Close()
		})
	}
}

// countedEvenly writes numbers into the steps of time that the view shows of a week.
func (w *world) countedEvenly() {
	w.t.Helper()
	dir := filepath.Join(w.dir, "stats")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	const step = 6 * time.Hour
	begin := today.Add(-7 * 24 * time.Hour).Truncate(step)
	files := map[string]string{}
	for i := 1; i < 28; i++ {
		at := begin.Add(time.Duration(i) * step)
		n := 1 + (i*7)%5
		for _, line := range []string{
			fmt.Sprintf(
				"qwen3 ada hermes read_file calls=%d first_try=%d repaired=1 repairs=2 done=%d run:100=3,180=2,240=1",
				10*n, 9*n, 9*n),
			fmt.Sprintf(
				"qwen3 cleo raw-json edit_file calls=%d first_try=%d malformed=%d invalid=1 done=%d timeout=1 asked=2 approved=1 refused=1 run:300=4 wait:800=2", 4*n, n, n, 3*n),
			fmt.Sprintf("llama cleo function-tag read_file calls=%d first_try=%d done=%d run:120=2", n, n, n),
			fmt.Sprintf(
				"llama cleo - - answers=%d requests=%d tokens_in=%d tokens_out=%d answer:500=3,700=1 first:400=4", 2*n,
				2*n, 900*n, 80*n),
			fmt.Sprintf(
				"qwen3 ada - - answers=%d failed=1 bounced=2 mended=1 bounces=2 requests=%d tokens_in=%d tokens_out=%d cost_micros=1234 answer:520=9 first:410=9", 9*n, 11*n, 5000*n, 700*n),
			"qwen3 ada - generate_image offered=20 offered_bytes=4000",
		} {
			f := strings.SplitN(line, " ", 5)
			for k := range f[:4] {
				f[k] = strings.TrimPrefix(f[k], "-")
			}
			files[at.Format(time.DateOnly)] += fmt.Sprintf("\n%d\t%s\t%s\t.\n", at.Unix()/3600,
				strings.Join(f[:4], "\t"), strings.ReplaceAll(f[4], " ", "\t"))
		}
	}
	for day, text := range files {
		if err := os.WriteFile(filepath.Join(dir, day+".stats"), []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestPicturesDiffer: the comparison finds a button that moved and a colour that changed, and lets the edges
// of letters pass.
func TestPicturesDiffer(t *testing.T) {
	testlevel.Long(t)
	want := image.NewRGBA(image.Rect(0, 0, 200, 100))
	fill := func(m *image.RGBA, r image.Rectangle, c color.RGBA) {
		draw.Draw(m, r, image.NewUniform(c), image.Point{}, draw.Src)
	}
	fill(want, want.Bounds(), color.RGBA{250, 250, 248, 255})
	fill(want, image.Rect(20, 20, 60, 40), color.RGBA{11, 106, 106, 255})
	for _, tt := range []struct {
		name   string
		change func(m *image.RGBA)
		share  float64
	}{
		{"nothing", func(*image.RGBA) {}, 0},
		{"a shade", func(m *image.RGBA) {
			fill(m, m.Bounds(), color.RGBA{250 - alikeColour, 250, 248, 255})
			fill(m, image.Rect(20, 20, 60, 40), color.RGBA{11, 106, 106 + alikeColour, 255})
		}, 0},
		{"one channel", func(m *image.RGBA) {
			fill(m, image.Rect(0, 0, 100, 1), color.RGBA{250, 250, 248 - alikeColour - 1, 255})
		}, 0.005},
		{"a button that moved", func(m *image.RGBA) {
			fill(m, image.Rect(20, 20, 60, 40), color.RGBA{250, 250, 248, 255})
			fill(m, image.Rect(30, 20, 70, 40), color.RGBA{11, 106, 106, 255})
		}, 0.02},
		{"all", func(m *image.RGBA) { fill(m, m.Bounds(), color.RGBA{0, 0, 0, 255}) }, 1},
	} {
		got := image.NewRGBA(want.Bounds())
		draw.Draw(got, got.Bounds(), want, image.Point{}, draw.Src)
		tt.change(got)
		file := filepath.Join(t.TempDir(), "want.png")
		if err := writePNG(file, few(want)); err != nil {
			t.Fatal(err)
		}
		kept, err := readPNG(file)
		if err != nil {
			t.Fatal(err)
		}
		share, diff := differs(got, kept), difference(got, kept)
		if share != tt.share {
			t.Errorf("%s: %g of the pixels differ, want %g", tt.name, share, tt.share)
		}
		if red := diff.RGBAAt(60, 30).R == 220; red != (tt.share >= 0.02) {
			t.Errorf("%s: the difference shows %v", tt.name, diff.RGBAAt(60, 30))
		}
	}
	if share := differs(image.NewRGBA(image.Rect(0, 0, 10, 10)), want); share != 1 {
		t.Errorf("pictures of different sizes differ by %g", share)
	}

	// A picture with more colours than are kept is still alike what is kept of it.
	many := image.NewRGBA(image.Rect(0, 0, 256, 256))
	for i := range 256 * 256 {
		many.SetRGBA(i%256, i/256, color.RGBA{uint8(i), uint8(i / 256), uint8(i / 512), 255})
	}
	if share := differs(many, few(many)); share > 0 {
		t.Errorf("leaving colours out changes %g of the pixels", share)
	}
}
