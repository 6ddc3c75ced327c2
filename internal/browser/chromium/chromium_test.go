package chromium_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"wield/internal/browser/chromium"
	"wield/internal/testlevel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a browser that is gone at the end of the test.
func start(t *testing.T, o chromium.Options) *chromium.Browser {
	t.Helper()
	if _, err := chromium.Find(""); err != nil {
		t.Skipf("SKIPPED, no browser is tested: %v", err)
	}
	o.NoSandbox = os.Getuid() == 0
	b, err := chromium.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// tmp makes a directory for temporary files whose path is short.
func tmp(t *testing.T) string {
	dir, err := chromium.TestDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	return dir
}

const library = `{ title: () => new Promise((r) => document.readyState === 'complete' ? r(document.title) : addEventListener('load', () => r(document.title))), sum: (a, b) => a + b, image: (s) => new Promise((r) => { const i = new Image(); i.onload = i.onerror = () => r(i.naturalWidth); i.src = s; }) }`

// TestTab: what a page is asked, it answers; its own scripts see nothing of it; the browser gets none of this program's
// environment; hosts that are not allowed are not reached; and nothing is left.
func TestTab(t *testing.T) {
	dir := tmp(t)
	t.Setenv("WIELD_TEST_SECRET", "hidden")
	var images atomic.Int32
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/image" {
			images.Add(1)
			w.Header().Set("Content-Type", "image/svg+xml")
			_, _ = w.Write([]byte(`<svg xmlns="http://www.w3.org/2000/svg" width="3" height="3"/>`))
			return
		}
		_, _ = w.Write(
			[]byte(
				"<title>One</title><script>setTimeout(() => { if (window.wield) document.title = 'Seen' }, 0)</script>"))
	}))
	defer page.Close()
	b := start(t, chromium.Options{Hosts: []string{"127.0.0.1"}})
	for _, pid := range chromium.Running(dir) {
		if env, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ")); strings.Contains(string(env),
			"hidden") {
			t.Errorf("process %d has the environment of this one", pid)
		}
	}
	tab, err := b.Open(t.Context(), page.URL, library)
	if err != nil {
		t.Fatal(err)
	}
	var title string
	if fresh, err := tab.Call(t.Context(), &title, "title"); err != nil || !fresh || title != "One" {
		t.Errorf("%q, fresh %v, %v", title, fresh, err)
	}
	var sum int
	if fresh, err := tab.Call(t.Context(), &sum, "sum", 1, 2); err != nil || fresh || sum != 3 {
		t.Errorf("%d, fresh %v, %v", sum, fresh, err)
	}
	if _, err := tab.Call(t.Context(), nil, "nothing"); err == nil ||
		!strings.Contains(err.Error(), "is not a function") {
		t.Errorf("a function that is not there: %v", err)
	}
	width := -1
	if _, err := tab.Call(t.Context(), &width, "image", page.URL+"/image"); err != nil || width == 0 {
		t.Errorf("an image of an allowed host: %d, %v", width, err)
	}
	other := strings.Replace(page.URL, "127.0.0.1", "localhost", 1)
	if _, err := tab.Call(t.Context(), &width, "image", other+"/image"); err != nil || width != 0 ||
		images.Load() != 1 {
		t.Errorf("an image of another host: %d, %v, %d requests", width, err, images.Load())
	}
	tab.Close()
	if _, err := tab.Call(t.Context(), nil, "title"); !errors.Is(err, chromium.ErrTabClosed) {
		t.Errorf("a closed tab: %v", err)
	}
	if _, err := b.Open(t.Context(), "http://127.0.0.1:1/", library); err == nil ||
		!strings.Contains(err.Error(), "cannot load the page") {
		t.Errorf("a page that is not there: %v", err)
	}
	b.Close()
	<-b.Done()
	if left := chromium.Running(dir); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 {
		t.Errorf("files are left: %v", list)
	}
}

// TestGuest: what a guest keeps, nobody else sees, and its tabs are seen while those of others are; its end closes
// them.
func TestGuest(t *testing.T) {
	testlevel.Long(t)
	tmp(t)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("<title>One</title>"))
	}))
	defer page.Close()
	b := start(t, chromium.Options{Hosts: []string{"127.0.0.1"}})
	const library = `{ keep: (s) => { if (s) document.cookie = 'kept=' + s; return document.cookie; }, seen: () => document.visibilityState }`
	keep := func(tab *chromium.Tab, what, want string) {
		t.Helper()
		var got string
		if _, err := tab.Call(t.Context(), &got, "keep", what); err != nil || got != want {
			t.Errorf("%q is kept (%v), want %q", got, err, want)
		}
	}
	var tabs []*chromium.Tab
	var guests []*chromium.Guest
	for _, name := range []string{"ann", "bob"} {
		g, err := b.Guest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tab, err := g.Open(t.Context(), page.URL, library)
		if err != nil {
			t.Fatal(err)
		}
		defer tab.Close()
		keep(tab, "", "")
		keep(tab, name, "kept="+name)
		tabs, guests = append(tabs, tab), append(guests, g)
	}
	second, err := guests[0].Open(t.Context(), page.URL, library)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	keep(second, "", "kept=ann")
	own, err := b.Open(t.Context(), page.URL, library)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	keep(own, "", "")
	for i, tab := range []*chromium.Tab{second, tabs[1], own} {
		var seen string
		if _, err := tab.Call(t.Context(), &seen, "seen"); err != nil || seen != "visible" {
			t.Errorf("tab %d is %s, %v", i, seen, err)
		}
		if n, err := tab.Heap(t.Context()); err != nil || n < 10_000 {
			t.Errorf("tab %d holds %d bytes, %v", i, n, err)
		}
	}
	guests[0].Close()
	if _, err := second.Call(t.Context(), nil, "seen"); !errors.Is(err, chromium.ErrTabClosed) {
		t.Errorf("a tab of a guest that has left: %v", err)
	}
	guests[1].Close()
	again, err := b.Guest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	tab, err := again.Open(t.Context(), page.URL, library)
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	keep(tab, "", "")
	b.Close()
	if _, err := b.Guest(t.Context()); !errors.Is(err, chromium.ErrClosed) {
		t.Errorf("a guest of a browser that has ended: %v", err)
	}
}

// TestMute: nobody waits forever for a tab that the browser does not finish to open.
func TestMute(t *testing.T) {
	testlevel.Long(t)
	tmp(t)
	b := start(t, chromium.Options{Patience: 1})
	if _, err := b.Open(t.Context(), "about:blank", library); err == nil ||
		err.Error() != "the page did not react for 1ns" {
		t.Errorf("got %v", err)
	}
}

// TestProfile: one that is named stays, is private, and has one browser at a time.
func TestProfile(t *testing.T) {
	dir := tmp(t)
	profile := filepath.Join(dir, "profile")
	b := start(t, chromium.Options{Profile: profile})
	if _, err := chromium.Start(t.Context(),
		chromium.Options{Profile: profile, NoSandbox: os.Getuid() == 0}); !errors.Is(err, chromium.ErrInUse) {
		t.Errorf("a second browser: %v", err)
	}
	if len(chromium.Running(dir)) == 0 && runtime.GOOS == "linux" {
		t.Error("the second browser has ended the first")
	}
	b.Close()
	if info, err := os.Stat(profile); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the profile: %v, %v", info, err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("left: %v", list)
	}
}

// TestNone: why there is no browser.
func TestNone(t *testing.T) {
	if _, err := chromium.Start(t.Context(),
		chromium.Options{Program: filepath.Join(t.TempDir(), "chromium")}); !errors.Is(err, chromium.ErrMissing) {
		t.Errorf("no program: %v", err)
	}
	if _, err := chromium.Find(""); err != nil {
		return
	}
	dir := tmp(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := chromium.Start(ctx, chromium.Options{NoSandbox: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if os.Getuid() == 0 {
		if _, err := chromium.Start(t.Context(), chromium.Options{}); !errors.Is(err, chromium.ErrSandbox) {
			t.Errorf("root: %v", err)
		}
	}
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	if _, err := chromium.Start(t.Context(),
		chromium.Options{NoSandbox: true, Visible: true}); runtime.GOOS == "linux" &&
		!errors.Is(err, chromium.ErrDisplay) {
		t.Errorf("no display: %v", err)
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 {
		t.Errorf("left: %v", list)
	}
}
