// Package chromium finds, starts and ends a Chromium, and opens pages in it.
//
// Words:
//
//   - A browser is one process of Chromium with all that it starts. Nobody but this program can reach it: it is spoken
//     to over a pipe, not through a port that any user of the machine could connect to.
//   - The profile is the directory in which it keeps cookies and the like. One that nobody named is new, and gone with
//     the browser.
//   - A tab is one page in it, with a world of its own: scripts that see the page's elements, but neither see its
//     scripts nor are seen by them.
package chromium

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/chromedp"
)

// The reasons for which there is no browser.
var (
	ErrMissing = errors.New("no Chromium was found")
	ErrSandbox = errors.New("the sandbox of Chromium cannot be set up")
	ErrInUse   = errors.New("the profile is in use by another browser")
	ErrDisplay = errors.New("there is no display to show a window on")
	ErrClosed  = errors.New("the browser has ended")
)

// startTime bounds the start of a browser, closeTime an orderly end. After that it is killed.
const (
	startTime = 2 * time.Minute
	closeTime = 5 * time.Second
)

// Options say which browser to start, and how.
type Options struct {
	Program string   // name or path; "": the first that is found
	Profile string   // directory; "": a new one, gone with the browser
	Temp    string   // directory in which its temporary files get one of their own; "": the system's
	Visible bool     // with a window
	Proxy   string   // that all requests go through, such as http://127.0.0.1:3128
	Hosts   []string // if there are any, the only ones that pages may reach; * stands for any characters
	Env     []string // variables, NAME=VALUE, in place of those that it would have

	// Patience is how long a page may take for one answer; 0: 30 s.
	Patience time.Duration

	// NoSandbox gives up the walls between a page and the machine, which Chromium cannot set up for root and in some
	// containers.
	NoSandbox bool
}

// Find returns the path of a Chromium: of the program named, or of the first one that is installed.
func Find(program string) (string, error) {
	names := programs
	if program != "" {
		names = []string{program}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	if program != "" {
		return "", fmt.Errorf("%w: there is no program %s", ErrMissing, program)
	}
	return "", fmt.Errorf("%w: looked for %s", ErrMissing, strings.Join(names, ", "))
}

// programs are names and places of browsers that understand the protocol, the freest first.
var programs = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
	"microsoft-edge", "/Applications/Chromium.app/Contents/MacOS/Chromium",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	`C:\Program Files\Google\Chrome\Application\chrome.exe`,
	`C:\Program Files (x86)\Google\Chrome\Application\chrome.exe`,
	`C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe`,
}

// A Browser is a running one. It is safe for concurrent use.
type Browser struct {
	ctx     context.Context // of chromedp; it ends with the browser
	cancel  func()
	lost    <-chan struct{} // closed when it has ended
	dir     string          // for its temporary files
	profile string
	out     *outputTail
	pid     int

	patience time.Duration

	close sync.Once
	ended chan struct{}
}

// Start starts a browser, which runs until Close. The context bounds the start alone.
func Start(ctx context.Context, o Options) (*Browser, error) {
	program, err := Find(o.Program)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "linux" && os.Getuid() == 0 && !o.NoSandbox {
		return nil, fmt.Errorf("%w: it never does for root", ErrSandbox)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := tempDir(o.Temp)
	if err != nil {
		return nil, err
	}
	b := &Browser{dir: dir, out: &outputTail{}, patience: cmp.Or(o.Patience, callTime), ended: make(chan struct{})}
	if o.Profile == "" {
		o.Profile = filepath.Join(dir, "profile")
	}
	if o.Profile, err = filepath.Abs(o.Profile); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := os.MkdirAll(o.Profile, 0o700); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	b.profile = o.Profile
	allocator, stop := chromedp.NewExecAllocator(context.Background(), b.options(program, o)...)
	tab, cancel := chromedp.NewContext(allocator, chromedp.WithLogf(silent), chromedp.WithErrorf(silent))
	b.ctx, b.cancel = tab, func() { cancel(); stop() }

	hurry := context.AfterFunc(ctx, cancel)
	late := time.AfterFunc(startTime, cancel)
	err = chromedp.Do(tab)
	hurry()
	late.Stop()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		b.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, b.explain(err)
	}
	running := chromedp.FromContext(tab).Browser
	b.lost = running.LostConnection
	if p := running.Process(); p != nil {
		b.pid = p.Pid
	}
	return b, nil
}

// tempDir makes a directory whose path is short enough for a socket below it, of which a system has about a hundred
// bytes.
func tempDir(under string) (string, error) {
	dir, err := os.MkdirTemp(under, "wield-chromium-")
	if err != nil || runtime.GOOS == "windows" || len(dir) <= maxTempDir {
		return dir, err
	}
	if err := os.Remove(dir); err != nil {
		return "", err
	}
	return os.MkdirTemp("/tmp", "wield-chromium-")
}

// TestDir makes a directory for the temporary files of a test: the directory of a browser is found in it, since its
// path leaves room for one. It is under TMPDIR, or, where that is too long, under /tmp.
func TestDir() (string, error) {
	under := os.TempDir()
	if runtime.GOOS != "windows" && len(under)+len("/wield-0123456789/wield-chromium-0123456789") > maxTempDir {
		under = "/tmp"
	}
	return os.MkdirTemp(under, "wield-")
}

const maxTempDir = 100 - len("/org.chromium.Chromium.XXXXXX/SingletonSocket")

// options translates o.
func (b *Browser) options(program string, o Options) []chromedp.ExecAllocatorOption {
	list := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	list = append(list,
		chromedp.ExecPath(program),
		chromedp.UserDataDir(o.Profile),
		chromedp.Flag("no-sandbox", o.NoSandbox),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-crash-reporter", true),
		chromedp.NoInheritEnv,
		chromedp.Env(environment(b.dir)...),
		chromedp.Env(o.Env...), // the last of a name counts
		chromedp.ModifyCmdFunc(apart),
		chromedp.CombinedOutput(b.out),
	)
	if o.Visible {
		list = append(list, chromedp.VisibleWindow)
	} else {
		list = append(list, chromedp.DisableGPU, chromedp.Flag("disable-features", strings.Join(unseen, ",")))
	}
	if o.Proxy != "" {
		list = append(list, chromedp.ProxyServer(o.Proxy))
	}
	if len(o.Hosts) > 0 {
		rules := "MAP * ~NOTFOUND"
		for _, host := range o.Hosts {
			rules += ", EXCLUDE " + host
		}
		list = append(list, chromedp.Flag("host-resolver-rules", rules))
	}
	return list
}

// unseen are the features that a browser without a window goes without: the pages of the list under its address bar,
// two in each window of each guest, which take more time than most of the pages that are asked for; and a process in
// store for the next page. What a feature is called is up to a version of Chromium, and one that does not know a name
// goes on without it. The first two are those that chromedp leaves out.
var unseen = []string{"Translate", "BlinkGenPropertyTrees", "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
	"SpareRendererForSitePerProcess"}

// passed are the variables that a browser gets from this program's environment. Keys of servers stand in others.
var passed = []string{"PATH", "LANG", "LC_ALL", "LANGUAGE", "TZ", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
	"XDG_RUNTIME_DIR", "SYSTEMROOT", "WINDIR", "PROGRAMFILES", "PROGRAMFILES(X86)", "FONTCONFIG_PATH",
	"FONTCONFIG_FILE"}

// environment returns the variables of a browser, which writes nowhere but into dir and its profile.
func environment(dir string) []string {
	var env []string
	for _, name := range passed {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range []string{"HOME", "TMPDIR", "TMP", "TEMP", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
		"LOCALAPPDATA", "APPDATA", "USERPROFILE"} {
		env = append(env, name+"="+dir)
	}
	return env
}

// signs are what Chromium says when it does not start.
var signs = []struct {
	words string
	err   error
}{
	{"No usable sandbox", ErrSandbox},
	{"without --no-sandbox", ErrSandbox},
	{"profile appears to be in use", ErrInUse},
	{"Opening in existing browser session", ErrInUse},
	{"Failed to create a ProcessSingleton", ErrInUse},
	{"Missing X server", ErrDisplay},
}

// explain returns why a browser did not start.
func (b *Browser) explain(err error) error {
	if errors.Is(err, chromedp.ErrNoDisplay) {
		return ErrDisplay
	}
	said := b.out.String()
	for _, s := range signs {
		if strings.Contains(said, s.words) {
			return s.err
		}
	}
	if line := telling(said); line != "" {
		return fmt.Errorf("the browser did not start: %s", line)
	}
	return fmt.Errorf("the browser did not start: %w", err)
}

// Done is closed when the browser has ended, by itself or by Close.
func (b *Browser) Done() <-chan struct{} { return b.lost }

// gone reports whether the browser has ended, or is about to be ended by Close.
func (b *Browser) gone() bool {
	select {
	case <-b.lost:
		return true
	default:
		return b.ctx.Err() != nil
	}
}

// Close ends the browser and returns when its processes and its temporary files are gone.
func (b *Browser) Close() {
	b.close.Do(func() {
		defer close(b.ended)
		if b.pid != 0 && b.ctx.Err() == nil {
			ctx, cancel := context.WithTimeout(b.ctx, closeTime)
			// an orderly end, so that the profile is written; one that does not come to it is killed
			_ = chromedp.Cancel(ctx)
			cancel()
		}
		b.cancel()
		if b.pid != 0 {
			reap(b.pid, b.dir, b.profile)
		} else {
			reap(0, b.dir) // the profile may be that of another browser
		}
		removeAll(b.dir)
	})
	<-b.ended
}

// removeAll removes a directory, in which a process that is just ending may still write.
func removeAll(dir string) {
	for range 50 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func silent(string, ...any) {}

// An outputTail keeps the last of what a browser says.
type outputTail struct {
	mu sync.Mutex
	b  []byte
}

const tailSize = 8 << 10

func (t *outputTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if len(t.b) > tailSize {
		t.b = append(t.b[:0], t.b[len(t.b)-tailSize:]...)
	}
	return len(p), nil
}

func (t *outputTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

// telling returns the line of what a browser said that says most about its end, cut to a length for messages.
func telling(said string) string {
	line := ""
	for l := range strings.Lines(said) {
		if l = strings.TrimSpace(l); l != "" {
			line = l
		}
		if strings.Contains(l, "FATAL") {
			break
		}
	}
	return line[:min(len(line), 300)]
}
