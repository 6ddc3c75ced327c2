package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/policy"
	"wield/tool/runner"
)

// A Kind names what happened.
type Kind string

// The kinds of events.
const (
	RunStarted      Kind = "run.started"
	RunWaiting      Kind = "run.waiting"
	RunEnded        Kind = "run.ended"
	ApprovalWaiting Kind = "approval.waiting"
	ApprovalDecided Kind = "approval.decided"
)

// kinds are the events that records are told as.
var kinds = map[record.Kind]Kind{
	record.KindRun:      RunStarted,
	record.KindWait:     RunWaiting,
	record.KindEnd:      RunEnded,
	record.KindQuestion: ApprovalWaiting,
	record.KindAnswer:   ApprovalDecided,
}

// Kinds returns all kinds of events, in the order in which they happen.
func Kinds() []Kind {
	return []Kind{RunStarted, ApprovalWaiting, RunWaiting, ApprovalDecided, RunEnded}
}

// An Endpoint receives events.
type Endpoint struct {
	URL    string
	Secret string
	Events []Kind // empty: all

	// Answers is the address by which people reach this service, such as https://wield.example. With it a question
	// comes with a link that answers it; empty: without.
	Answers string
}

// Options say what is sent where.
type Options struct {
	Journal   journal.Store
	Endpoints []Endpoint
	Log       *slog.Logger      // nil: none
	Transport http.RoundTripper // nil: the network, to the hosts of the endpoints alone
}

// Bounds of what is sent.
const (
	attempts = 6
	patience = 15 * time.Second // for one request
	maxAge   = time.Hour        // of an event; an older one is of no use any more
	again    = 10 * time.Second // a journal that cannot be read is looked at
	maxReply = 64 << 10         // of an answer that is read, so that the connection can be used again
)

// pauses are between one attempt and the next.
var pauses = [attempts - 1]time.Duration{time.Second, 5 * time.Second, 20 * time.Second, time.Minute, 2 * time.Minute}

// longestPause limits the pause that an endpoint can ask for.
const longestPause = 5 * time.Minute

// A Sender sends events. Several goroutines may use it at once, once it runs.
type Sender struct {
	store journal.Store
	log   *slog.Logger
	ends  []*endpoint
	begun bool  // after is known
	after int64 // the position in the journal that events are sent from
}

type endpoint struct {
	Endpoint
	host   string // for the log: a path may hold a secret
	secret []byte
	client *http.Client
}

// New returns a sender. It sends nothing before Run.
func New(o Options) (*Sender, error) {
	s := &Sender{store: o.Journal, log: o.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	for _, e := range o.Endpoints {
		made, err := newEndpoint(e, o.Transport)
		if err != nil {
			return nil, err
		}
		s.ends = append(s.ends, made)
	}
	return s, nil
}

func newEndpoint(e Endpoint, t http.RoundTripper) (*endpoint, error) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" {
		return nil, errors.New("webhook: the address of an endpoint is no URL of a server")
	}
	secret := []byte(e.Secret)
	if coded, ok := strings.CutPrefix(e.Secret, "whsec_"); ok {
		if secret, err = base64.StdEncoding.DecodeString(coded); err != nil {
			return nil, fmt.Errorf("webhook: the secret of %s begins with whsec_, and no base64 follows", u.Host)
		}
	}
	if len(secret) < 16 {
		return nil, fmt.Errorf("webhook: the secret of %s has %d bytes; it needs at least 16, or it can be guessed",
			u.Host, len(secret))
	}
	client := &http.Client{Transport: t}
	if t == nil {
		// The host is opened because the configuration names it, whatever it is. Nothing else is: an answer leads
		// nowhere.
		p, err := policy.New(policy.Definition{Default: chat.DecisionDeny, Rules: []policy.Rule{
			{Decision: chat.DecisionAllow, Selector: policy.Selector{Host: []string{u.Host}}}}})
		if err != nil {
			return nil, fmt.Errorf("webhook: %s: %w", u.Host, err)
		}
		client = p.Egress("webhook", policy.EgressOptions{}).Client()
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &endpoint{Endpoint: e, host: u.Host, secret: secret, client: client}, nil
}

// Begin looks where the journal ends: what happens from now on is sent, although Run may come later.
func (s *Sender) Begin(ctx context.Context) error {
	if len(s.ends) == 0 {
		return nil
	}
	for h, err := range s.store.Heads(ctx, journal.HeadQuery{Limit: 1}) {
		if err != nil {
			return fmt.Errorf("webhook: %w", err)
		}
		s.after = h.Last
	}
	s.begun = true
	return nil
}

// Run sends what happens from Begin on, or from now on where that was not called, until ctx ends. The error is nil
// then.
func (s *Sender) Run(ctx context.Context) error {
	if len(s.ends) == 0 {
		return nil
	}
	if !s.begun {
		if err := s.Begin(ctx); err != nil {
			return err
		}
	}
	var all sync.WaitGroup
	failed := make(chan error, len(s.ends))
	for _, e := range s.ends {
		all.Go(func() {
			if err := s.follow(ctx, e, s.after); err != nil && ctx.Err() == nil {
				failed <- fmt.Errorf("webhook: to %s: %w", e.host, err)
			}
			e.client.CloseIdleConnections()
		})
	}
	all.Wait()
	close(failed)
	return <-failed
}

// follow sends an endpoint what it wants to know of, one event after the other. Where the journal cannot be read for a
// while, it goes on from there.
func (s *Sender) follow(ctx context.Context, e *endpoint, after int64) error {
	for {
		err := s.watch(ctx, e, &after)
		if !journal.Passes(err) || ctx.Err() != nil {
			return err
		}
		s.log.WarnContext(ctx, "cannot read the journal; events wait", "host", e.host, "error", err)
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return nil
		}
	}
}

// watch is follow as long as the journal can be read. after is moved behind what an endpoint was told of.
func (s *Sender) watch(ctx context.Context, e *endpoint, after *int64) error {
	q := journal.Query{After: *after, Kinds: slices.Sorted(maps.Keys(kinds))}
	for entry, err := range s.store.Watch(ctx, q) {
		if err == nil {
			err = s.tell(ctx, e, &entry)
		}
		if err != nil {
			return err
		}
		*after = entry.Position
	}
	return nil
}

// tell sends an endpoint what it wants to know of an entry. The error is that of the journal.
func (s *Sender) tell(ctx context.Context, e *endpoint, entry *journal.Entry) error {
	kind := kinds[entry.Record.Kind]
	if len(e.Events) > 0 && !slices.Contains(e.Events, kind) || entry.Deleted() {
		return nil
	}
	log := s.log.With("host", e.host, "event", string(kind), "position", entry.Position)
	if time.Since(entry.At) > maxAge {
		log.WarnContext(ctx, "event expired unsent")
		return nil
	}
	body, err := s.body(ctx, e, kind, entry)
	if errors.Is(err, runner.ErrNoApproval) { // deleted meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	if err := e.deliver(ctx, strconv.FormatInt(entry.Position, 10), body); err != nil && ctx.Err() == nil {
		log.ErrorContext(ctx, "event not delivered", "error", err)
	}
	return nil
}

// deliver sends one event, again and again if the endpoint cannot take it now.
func (e *endpoint) deliver(ctx context.Context, id string, body []byte) error {
	for n := 0; ; n++ {
		wait, err := e.post(ctx, id, body)
		if err == nil || wait < 0 || n == len(pauses) || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(max(wait, pauses[n])):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// post sends an event once. wait is negative if there is no sense in trying again, else how long the endpoint asks to
// wait.
func (e *endpoint) post(ctx context.Context, id string, body []byte) (wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return -1, errors.New("the address is no URL") // which may hold a secret
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "wield")
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", stamp)
	h.Set("Webhook-Signature", "v1,"+sign(e.secret, id+"."+stamp+"."+string(body)))
	resp, err := e.client.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the address
		}
		if errors.Is(err, policy.ErrEgress) {
			return -1, err
		}
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxReply)
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return 0, nil
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusRequestTimeout,
		resp.StatusCode >= 500:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		seconds = min(max(seconds, 0), int(longestPause/time.Second)) // first, so that no product overflows
		return time.Duration(seconds) * time.Second, fmt.Errorf("the endpoint answered %s", resp.Status)
	}
	return -1, fmt.Errorf("the endpoint answered %s, which trying again does not change", resp.Status)
}

// sign returns the signature of a text.
func sign(secret []byte, text string) string {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(m.Sum(nil))
}

// token returns that of the link to an approval.
func (e *endpoint) token(approval string) string {
	m := hmac.New(sha256.New, e.secret)
	m.Write([]byte("the link to approval " + approval))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// Check reports whether a token is that of a link to an approval, and who answers by it.
func (s *Sender) Check(approval, token string) (by string, ok bool) {
	for _, e := range s.ends {
		if e.Answers != "" && hmac.Equal([]byte(e.token(approval)), []byte(token)) {
			return "link:" + e.host, true
		}
	}
	return "", false
}

// A Message is the body of a request.
type Message struct {
	ID       string    `json:"id"` // the same for each attempt; also the header webhook-id
	Event    Kind      `json:"event"`
	At       time.Time `json:"at"`
	Run      string    `json:"run"`
	Session  string    `json:"session"`
	Agent    string    `json:"agent,omitempty"` // run.started
	By       string    `json:"by,omitempty"`    // run.started
	Approval *Approval `json:"approval,omitempty"`
	Waits    *Waits    `json:"waits,omitempty"` // run.waiting
	Ended    *Ended    `json:"ended,omitempty"` // run.ended
}

// An Approval is a question, as a message tells of it.
type Approval struct {
	ID        string               `json:"id"`
	State     runner.ApprovalState `json:"state"`
	Tool      string               `json:"tool"`
	Arguments json.RawMessage      `json:"arguments"` // whole
	Dir       string               `json:"dir,omitempty"`
	Rule      string               `json:"rule,omitempty"`
	Why       string               `json:"why,omitempty"`
	Expires   time.Time            `json:"expires,omitzero"`
	By        string               `json:"by,omitempty"`     // approval.decided
	Reason    string               `json:"reason,omitempty"` // approval.decided
	Edited    json.RawMessage      `json:"edited,omitempty"` // approval.decided: what is to run instead
	Link      string               `json:"link,omitempty"`   // approval.waiting: GET shows it, POST decides
}

// Waits says what a run waits for.
type Waits struct {
	For       record.WaitFor `json:"for"`
	Approvals []string       `json:"approvals,omitempty"`
	Calls     []string       `json:"calls,omitempty"`
}

// Ended says how a run ended.
type Ended struct {
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// body returns the message to an endpoint about an entry.
func (s *Sender) body(ctx context.Context, e *endpoint, kind Kind, entry *journal.Entry) ([]byte, error) {
	m := Message{ID: strconv.FormatInt(entry.Position, 10), Event: kind, At: entry.At, Run: entry.Stream,
		Session: entry.Session}
	switch r := &entry.Record; r.Kind {
	case record.KindRun:
		m.Agent, m.By = r.Run.Agent, r.Run.By
	case record.KindWait:
		m.Waits = &Waits{r.Wait.For, r.Wait.Approvals, r.Wait.Calls}
	case record.KindEnd:
		m.Ended = &Ended{r.End.Reason, r.End.Detail}
	case record.KindQuestion, record.KindAnswer:
		store := journal.Approvals{Store: s.store}
		p, err := store.Find(ctx, entry.Stream)
		if err != nil {
			return nil, err
		}
		m.Run, m.Approval = p.Run, approvalOf(&p)
		if r.Kind == record.KindQuestion {
			m.Approval.Link = e.link(p.ID)
		} else {
			m.Approval.State, m.Approval.By, m.Approval.Reason, m.Approval.Edited = r.Answer.State, r.Answer.By,
				r.Answer.Reason, r.Answer.Arguments
		}
	}
	return json.Marshal(&m)
}

func approvalOf(p *journal.Pending) *Approval {
	a := &Approval{ID: p.ID, State: p.State, Tool: p.Tool, Arguments: p.Arguments, Dir: p.Dir, Rule: p.Rule, Why: p.Why,
		Expires: p.Expires}
	if len(a.Arguments) == 0 {
		a.Arguments = json.RawMessage("{}")
	}
	return a
}

// link returns the address by which an approval is answered, or "".
func (e *endpoint) link(approval string) string {
	if e.Answers == "" {
		return ""
	}
	return strings.TrimRight(e.Answers, "/") + "/api/v1/approvals/" + approval + "?token=" + e.token(approval)
}
