package chromium

import (
	"context"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// Permit lets pages of an origin, in the tabs of the same guest or of none, do something that the browser asks a
// person about, such as notifications. Without it the browser answers that it is not allowed.
func (t *Tab) Permit(ctx context.Context, origin, name string) error {
	return t.do(ctx, func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted,
			Origin: origin, BrowserContextID: chromedp.FromContext(t.ctx).BrowserContextID})
		return err
	})
}
