package compose

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"wield/internal/config"
	"wield/schema/near"
)

// Reach tries whether the server behind a model answers at all. What it answers is of no interest: no key is sent, and
// nothing is asked of a model. One that runs inside wield is always there.
func Reach(c *config.Config, ctx context.Context, model string) error {
	m, ok := c.Models[model]
	if !ok {
		return fmt.Errorf("no model %q is configured%s", model, near.Hint(model, c.ModelNames()))
	}
	address := string(c.Backends[m.Backend].URL)
	if address == "" {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("backend %s: %w", m.Backend, err)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	client := http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // it holds the address, which may hold a password
			err = u.Err
		}
		if ctx.Err() != nil {
			err = errors.New("it does not answer in time")
		}
		return fmt.Errorf("the backend %s cannot be reached: %w", m.Backend, err)
	}
	return resp.Body.Close()
}
