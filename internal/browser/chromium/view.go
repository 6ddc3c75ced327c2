package chromium

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A View sets how a page is shown.
type View struct {
	Width, Height int  // in pixels
	Dark          bool // the person prefers dark colours
	Still         bool // and nothing that moves
}

// Show shows the page in a view.
func (t *Tab) Show(ctx context.Context, v View) error {
	media := func(name string, on bool, yes, no string) *emulation.MediaFeature {
		if on {
			no = yes
		}
		return &emulation.MediaFeature{Name: name, Value: no}
	}
	return t.do(ctx, func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: int64(v.Width), Height: int64(v.Height), DeviceScaleFactor: 1}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
				media("prefers-color-scheme", v.Dark, "dark", "light"),
				media("prefers-reduced-motion", v.Still, "reduce", "no-preference")}})
		return err
	})
}

// Picture returns what is seen of the page, as a PNG.
func (t *Tab) Picture(ctx context.Context) (png []byte, err error) {
	err = t.do(ctx, func(ctx context.Context, target *chromedp.Target) error {
		r, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{})
		png = r.Data
		return err
	})
	return png, err
}

// named are keys that write no character.
var named = map[string]string{
	"Enter": kb.Enter, "Tab": kb.Tab, "Escape": kb.Escape, "Backspace": kb.Backspace, "Delete": kb.Delete,
	"Up": kb.ArrowUp, "Down": kb.ArrowDown, "Left": kb.ArrowLeft, "Right": kb.ArrowRight, "Home": kb.Home,
	"End": kb.End, "PageUp": kb.PageUp, "PageDown": kb.PageDown,
}

// modifiers are keys that are held.
var modifiers = map[string]chromedp.Modifier{"Shift": chromedp.ModifierShift, "Control": chromedp.ModifierCtrl,
	"Alt": chromedp.ModifierAlt, "Meta": chromedp.ModifierMeta}

// Press presses a key, such as a, Enter, Shift+Tab or Control+Enter. As with a keyboard, a page that takes the key
// for itself keeps its character from being written.
func (t *Tab) Press(ctx context.Context, key string) error {
	held := strings.Split(key, "+")
	last := held[len(held)-1]
	var with chromedp.Modifier
	for _, name := range held[:len(held)-1] {
		m, ok := modifiers[name]
		if !ok {
			return fmt.Errorf("no key is held as %s", name)
		}
		with |= m
	}
	if code, ok := named[last]; ok {
		last = code
	}
	return t.do(ctx, func(ctx context.Context, target *chromedp.Target) error {
		for _, e := range strokes(last, with) {
			if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// strokes are the events of keys that are pressed while others are held. The character is part of the event that the
// key goes down: as an event of its own it would be written whatever the page does with the key.
func strokes(keys string, with chromedp.Modifier) (list []input.DispatchKeyEventParams) {
	for _, r := range keys {
		for _, e := range kb.Encode(r) {
			e.Modifiers |= int64(with)
			if e.Type != kb.KeyChar {
				list = append(list, *e)
			} else if down := &list[len(list)-1]; e.Modifiers&^int64(chromedp.ModifierShift) == 0 {
				down.Text, down.UnmodifiedText = e.Text, e.UnmodifiedText
			}
		}
	}
	return list
}

// Point moves the mouse to a place of the page, in pixels, and clicks there if click says so.
func (t *Tab) Point(ctx context.Context, x, y float64, click bool) error {
	return t.do(ctx, func(ctx context.Context, target *chromedp.Target) error {
		events := []input.DispatchMouseEventParams{{Type: "mouseMoved", X: x, Y: y}}
		if click {
			events = append(events, input.DispatchMouseEventParams{Type: "mousePressed", X: x, Y: y,
				Button: input.MouseButtonLeft, ClickCount: 1},
				input.DispatchMouseEventParams{Type: "mouseReleased", X: x, Y: y, Button: input.MouseButtonLeft,
					ClickCount: 1})
		}
		for _, e := range events {
			if _, err := cdp.Call(ctx, target, input.DispatchMouseEvent, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Front makes the tab the one that is seen. Only one of a browser is at a time; the others are hidden to their
// scripts, too.
func (t *Tab) Front(ctx context.Context) error {
	return t.do(ctx, func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.BringToFront, cdp.Empty{})
		return err
	})
}

// Heap returns how many bytes the page's scripts hold: values of JavaScript, and what the browser holds for them,
// such as elements. What nothing refers to any more is thrown away before.
func (t *Tab) Heap(ctx context.Context) (bytes int64, err error) {
	err = t.do(ctx, func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
			return err
		}
		r, err := cdp.Call(ctx, target, runtime.GetHeapUsage, cdp.Empty{})
		bytes = int64(r.UsedSize + r.EmbedderHeapUsedSize + r.BackingStorageSize)
		return err
	})
	return bytes, err
}

// Go goes to another address.
func (t *Tab) Go(ctx context.Context, address string) error {
	t.loaded.Store(false)
	return t.navigate(ctx, address)
}

// Faults gathers the errors that the page's own scripts do not catch, from now on. The function returns those so far.
func (t *Tab) Faults() (func() []string, error) {
	var mu sync.Mutex
	var list []string
	err := chromedp.Listen(t.ctx, func(ev any) {
		e, ok := ev.(*runtime.EventExceptionThrown)
		if !ok || e.ExceptionDetails == nil {
			return
		}
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil && x.Description != "" {
			text = x.Description
		}
		mu.Lock()
		defer mu.Unlock()
		list = append(list, text)
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), list...)
	}, err
}
