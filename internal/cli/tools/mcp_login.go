package tools

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/tool/policy"
)

// pathOfCallback is where the browser goes after a login.
const pathOfCallback = "/callback"

func newMCPLoginCmd(app *cli.App, file *string) *cobra.Command {
	var key string
	var port int
	var quiet bool
	cmd := &cobra.Command{
		Use:   "login NAME",
		Short: "Log in to a service by OAuth",
		Long: `Opens the login page of a service in a browser and saves the tokens in the data directory, readable
only by you. They are sent only to this service. Without a browser, open the printed address
anywhere and paste the address where the browser ends.

A server with shared: false has a login per wield key; choose it with --key.`,
		Example: `  wield mcp login tickets
  wield mcp login tickets --key ada`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withServers(app, *file, func(box *compose.Toolbox, r *config.Result) error {
				if err := knownKey(r.Config, key); err != nil {
					return err
				}
				s, err := mcpServer(box, args[0])
				if err != nil {
					return err
				}
				if compose.Tokens(r.Config, app.Getenv) == nil {
					return cli.UsageErrorf(
						"there is no place where tokens are kept: set data in the configuration, or HOME")
				}
				c, err := listenForLogin(cmd.Context(), port)
				if err != nil {
					return err
				}
				defer c.server.Close()
				c.app, c.quiet = app, quiet
				if err := s.Login(cmd.Context(), key, c.redirect(), c.visit); err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
				fmt.Fprintf(app.Stdout, "logged in to %s\n", args[0])
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "wield key `NAME` that the login is for; empty: all")
	cmd.Flags().IntVar(&port, "port", 0, "local port for the redirect; 0: any")
	cmd.Flags().BoolVar(&quiet, "no-browser", false, "print the address; do not open a browser")
	return cmd
}

func newMCPLogoutCmd(app *cli.App, file *string) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:     "logout NAME",
		Short:   "Delete the tokens of a login",
		Long:    "Deletes the tokens of wield mcp login. It does not revoke them at the service.",
		Example: "  wield mcp logout tickets",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := config.Load(config.Options{File: *file, Getenv: app.Getenv})
			if err != nil {
				return err
			}
			tokens := compose.Tokens(r.Config, app.Getenv)
			if tokens == nil || tokens.Get(args[0], key) == nil {
				return cli.UsageErrorf("there is no login to %q", args[0])
			}
			return tokens.Forget(args[0], key)
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "wield key `NAME` that the login was for; empty: all")
	return cmd
}

// knownKey reports a name of a key that there is not.
func knownKey(c *config.Config, key string) error {
	if key == "" {
		return nil
	}
	for _, k := range c.Keys {
		if k.Name == key {
			return nil
		}
	}
	return cli.UsageErrorf("the configuration has no key named %q", key)
}

// withServers calls f with the servers of the configuration, none of which is waited for.
func withServers(app *cli.App, file string, f func(*compose.Toolbox, *config.Result) error) error {
	r, err := config.Load(config.Options{File: file, Getenv: app.Getenv, AllowPending: app.Accepts})
	if err != nil {
		return err
	}
	box, err := compose.OpenToolbox(r.Config, compose.ToolEnvironment{Getenv: app.Getenv, File: r.File, Behind: true})
	if err != nil {
		return err
	}
	err = f(box, r)
	if closing := box.Close(); err == nil {
		err = closing
	}
	return err
}

// A callback is the address to which a login returns the browser.
type callback struct {
	app      *cli.App
	quiet    bool
	listener net.Listener
	server   *http.Server
	came     chan *url.URL
}

func listenForLogin(ctx context.Context, port int) (*callback, error) {
	l, err := cli.Listen(ctx, fmt.Sprint("127.0.0.1:", port))
	if err != nil {
		return nil, err
	}
	c := &callback{listener: l, came: make(chan *url.URL, 1)}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	go c.server.Serve(l)
	return c, nil
}

func (c *callback) redirect() string { return "http://" + c.listener.Addr().String() + pathOfCallback }

// ServeHTTP takes the browser's last request.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.URL.Path != pathOfCallback || q.Get("state") == "" || q.Get("code") == "" && q.Get("error") == "" {
		http.NotFound(w, r)
		return
	}
	select {
	case c.came <- r.URL:
	default:
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, "The login is over. You can close this page and go back to the terminal.\n")
}

// visit sends a person to an address, and waits for where the browser ends, or for that address to be pasted.
func (c *callback) visit(ctx context.Context, address string) (*url.URL, error) {
	fmt.Fprintf(c.app.Stderr,
		"Log in here: %s\n(where the browser is on another machine, paste the address that it ends at)\n",
		policy.Visible(address))
	if !c.quiet {
		openBrowser(address)
	}
	pasted := make(chan *url.URL, 1)
	go func() {
		var line string
		if _, err := fmt.Fscanln(c.app.Stdin, &line); err == nil {
			if u, err := url.Parse(strings.TrimSpace(line)); err == nil && u.Query().Get("state") != "" {
				pasted <- u
			}
		}
	}()
	select {
	case u := <-c.came:
		return u, nil
	case u := <-pasted:
		return u, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// openBrowser opens an address where there is a browser. The address is printed as well, so that it may fail.
func openBrowser(address string) {
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return
	}
	program := map[string][]string{"darwin": {"open"}, "windows": {"rundll32",
		"url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if program == nil {
		program = []string{"xdg-open"}
	}
	cmd := exec.Command(program[0], append(program[1:], address)...)
	if cmd.Start() == nil {
		go cmd.Wait()
	}
}
