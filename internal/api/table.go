package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"

	"wield/chat"
	"wield/internal/capture"
	"wield/internal/cluster"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/policy"
	"wield/tool/runner"
)

// Who may use a route.
var (
	reading   = []Role{RoleClient, RoleApprover, RoleAdmin} // what they may see
	asking    = []Role{RoleClient, RoleAdmin}
	deciding  = []Role{RoleApprover, RoleAdmin}
	onlyAdmin = []Role{RoleAdmin}
)

// mediaEvents is the content type of streams.
const mediaEvents = "text/event-stream"

// of returns the type of the value of v.
func of(v any) reflect.Type { return reflect.TypeOf(v) }

// table returns all routes, in the order in which they are told.
func table() []route {
	const get, post, patch, del = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	afterSeq := param{name: "after", doc: "the next of the page before", number: true, min: 0, max: 1<<53 - 1}
	session := param{name: "session", doc: "only of this session"}
	return slices.Concat(journaled(driving(
		route{method: post, path: "/runs", name: "startRun",
			doc: "Start a run. It goes on by itself, whoever follows it.", may: asking, in: of(Task{}), most: maxUpload,
			out: of(Run{}), made: http.StatusCreated, fails: []Kind{KindNotFound, KindConflict},
			serve: (*exchange).startRun},
		route{method: get, path: "/runs/{run}/events", name: "followRun",
			doc: "Follow a run, from its beginning or from behind the event whose id is sent. The name of an event " +
				"is its kind, its data an Event. 204 says that the run is over and all was seen.",
			query: []param{{name: "after", doc: "the id of the last event that was seen, as the header Last-Event-ID"}},
			may:   asking, media: mediaEvents, none: true, write: (*exchange).followRun},
		route{method: post, path: "/runs/{run}/messages", name: "tellRun",
			doc: "Say something to a run that is under way.", may: asking, in: of(Say{}), most: maxUpload,
			out: of(Run{}), made: http.StatusAccepted, fails: []Kind{KindEnded, KindConflict},
			serve: (*exchange).tellRun},
		route{method: post, path: "/runs/{run}/cancel", name: "cancelRun",
			doc: "End a run for good, and with it the approvals that it waits for.", may: asking, out: of(Run{}),
			fails: []Kind{KindEnded}, serve: (*exchange).cancelRun},
		route{method: post, path: "/runs/{run}/resume", name: "resumeRun", doc: "Go on with a run that stopped.",
			may: asking, out: of(Run{}), fails: []Kind{KindEnded, KindConflict}, serve: (*exchange).resumeRun},
	)...), journaled([]route{
		{method: get, path: "/runs", name: "listRuns", doc: "List runs, those that changed last first.", may: asking,
			out: of(Runs{}), serve: (*exchange).listRuns,
			query: []param{limitParam, beforeParam, session, {name: "state", doc: "only those in this state",
				words: []string{"open", "waiting", "ended"}}}},
		{method: get, path: "/runs/{run}", name: "showRun", doc: "Show a run.", may: asking, out: of(Run{}),
			serve: (*exchange).showRun},
		{method: get, path: "/runs/{run}/records", name: "readRecords",
			doc: "Read what the journal has of a run, in order.", may: asking,
			query: []param{limitParam, afterSeq}, out: of(Records{}), serve: (*exchange).readRecords},
		{method: get, path: "/runs/{run}/timeline", name: "showTimeline",
			doc: "Show what happened in a run, turn by turn, with times.", may: asking, out: of(Timeline{}),
			serve: (*exchange).runTimeline},
		{method: get, path: "/runs/{run}/scenario", name: "exportScenario",
			doc: "Export a run as a scenario, from which a scripted model answers the same.",
			may: asking, media: mediaScenario,
			write: (*exchange).exportScenario, fails: []Kind{KindConflict}},
		{method: get, path: "/runs/{run}/turns/{turn}", name: "readTurn",
			doc: "Show the text of one answer of the model, the first being 0, and how it is read.",
			may: asking,
			query: []param{{name: "dialect", doc: "that it is to be read as; auto if it is left out"},
				{name: "only", doc: "without the safe others", words: truth}}, out: of(TurnText{}),
			serve: (*exchange).readTurn},
		askedRoute(),
		{method: get, path: "/events", name: "followAll", doc: "Follow what is recorded of all runs, as it happens. " +
			"The id of an event is its position, its name the kind of the record, its data an Entry.", may: reading,
			query: []param{session, {name: "after",
				doc: "the id of the last event that was seen, as the header Last-Event-ID", number: true, min: 0,
				max: 1<<53 - 1},
				{name: "largest", number: true, min: 0, max: largestRecord,
					doc: "leave out records of more bytes than this, 0 for all; how large one is stands in its place"}},
			media: mediaEvents, write: (*exchange).tail, fails: []Kind{KindInvalid}},

		{method: get, path: "/approvals", name: "listApprovals",
			doc: "List approvals, the latest first: those that wait for a decision, if nothing else is asked for.",
			may: reading,
			query: []param{limitParam, beforeParam, {name: "state", doc: "pending, decided or all",
				words: []string{"pending", "decided", "all"}}},
			out: of(Approvals{}), serve: (*exchange).listApprovals},
		{method: get, path: "/approvals/{approval}", name: "showApproval", doc: "Show an approval.", may: reading,
			link: true, out: of(Approval{}), serve: (*exchange).showApproval},
		{method: post, path: "/approvals/{approval}", name: "decideApproval",
			doc: "Decide an approval. The first decision stands.", may: deciding, link: true,
			in: of(Decision{}), out: of(Approval{}), fails: []Kind{KindDecided, KindExpired},
			serve: (*exchange).decide},
		reviewRoute(),

		{method: get, path: "/sessions", name: "listSessions",
			doc: "List sessions, those that changed last first. A page may be short, or empty, and have a next one.",
			may: asking,
			query: []param{limitParam, beforeParam,
				{name: "q", doc: "only those in whose title or messages all these words stand"},
				{name: "from", doc: "only those that began here, in the service, or at the command line",
					words: []string{fromService, fromCommandLine}}}, out: of(Sessions{}),
			serve: (*exchange).listSessions},
		{method: get, path: "/sessions/{session}", name: "showSession", doc: "Show a session.", may: asking,
			out: of(Session{}), serve: (*exchange).showSession},
		{method: patch, path: "/sessions/{session}", name: "renameSession", doc: "Give a session another title.",
			may: asking, in: of(Rename{}), out: of(Session{}), serve: (*exchange).renameSession},
		{method: del, path: "/sessions/{session}", name: "deleteSession",
			doc: "Delete a session with all that is recorded of it.", may: asking, fails: []Kind{KindConflict},
			serve: (*exchange).deleteSession},
		{method: get, path: "/sessions/{session}/transcript", name: "readTranscript",
			doc: "Read what was said and done in a session, in order.", may: asking,
			query: []param{limitParam, afterSeq}, out: of(Transcript{}), serve: (*exchange).readTranscript},
		{method: get, path: "/sessions/{session}/export", name: "exportSession",
			doc: "Export all records of a session as JSON Lines.", may: asking, media: mediaLines,
			write: (*exchange).exportSession},
	}...), statsRoutes(), []route{
		{method: post, path: "/parse", name: "parse", doc: "Read a text of a model for calls, as one dialect or " +
			"several, and say of every value which bytes it was read from.", may: reading,
			in: of(Parsing{}), out: of(Parsed{}), serve: (*exchange).parse},
		{method: get, path: "/inspect", name: "inspect", doc: "Search runs and exchanges of the gateway, the latest " +
			"first. A page may be short, or empty, and have a next one.", may: asking,
			query: []param{limitParam, beforeParam, filterParam}, out: of(Inspections{}), serve: (*exchange).inspect},
		{method: get, path: "/captures/{capture}/timeline", name: "showExchange",
			doc: "Show what stands behind an exchange, turn by turn, masked.", may: onlyAdmin, out: of(Timeline{}),
			serve: (*exchange).exchangeTimeline},
		{method: get, path: "/captures", name: "listCaptures",
			doc: "List the last exchanges of the gateway, the latest first.", may: onlyAdmin,
			query: []param{limitParam, beforeParam}, out: of(Captures{}), fails: []Kind{KindNotFound},
			serve: (*exchange).listCaptures},
		{method: get, path: "/captures/{capture}", name: "showCapture",
			doc: "Show an exchange with its bodies, masked.", may: onlyAdmin, out: of(capture.Record{}),
			serve: (*exchange).showCapture},
		{method: get, path: "/tools", name: "listTools", doc: "List the tools that wield runs.", may: reading,
			out: of(Tools{}), serve: (*exchange).listTools},
		{method: get, path: "/models", name: "listModels", doc: "List the models that the caller may use.",
			may: reading, out: of(Models{}), serve: (*exchange).listModels},

		{method: get, path: "/models/{model}/reach", name: "reachModel",
			doc: "Try whether the server behind a model can be reached.", may: asking, out: of(Reach{}),
			serve: (*exchange).reachModel},

		{method: get, path: "/cluster", name: "showCluster", doc: "Show which services and workers there are.",
			may: onlyAdmin, out: of(cluster.Status{}), fails: []Kind{KindNotFound}, serve: (*exchange).showCluster},

		{method: get, path: "/whoami", name: "whoami", doc: "Say who the caller is.", may: reading, out: of(Me{}),
			serve: (*exchange).whoami},
		{method: post, path: "/login", name: "logIn", doc: "Exchange a key for a cookie.", open: true, in: of(Login{}),
			out: of(Me{}), fails: []Kind{KindUnknown, KindForbidden}, serve: (*exchange).logIn},
		{method: get, path: "/login", name: "logInByToken",
			doc:  "Exchange the token of a printed address for a cookie, once, and go to the page.",
			open: true, made: http.StatusSeeOther,
			query: []param{{name: "token", doc: "as it was printed"}}, fails: []Kind{KindUnknown},
			write: (*exchange).logInByToken},
		{method: post, path: "/logout", name: "logOut", doc: "End the login of the cookie.", open: true,
			fails: []Kind{KindForbidden}, serve: (*exchange).logOut},
		{method: get, path: "/openapi.json", name: "showDocument", doc: "Show this document.", open: true,
			media: "application/json", write: (*exchange).showDocument},
	}, connectRoutes(), settingRoutes(), mcpRoutes(), logRoutes())
}

// known are the schemas of types that only some words may stand in, or that are written otherwise than they are made.
var known = map[reflect.Type]json.RawMessage{
	of(json.RawMessage{}):  json.RawMessage(`{}`),
	of(chat.Origin(0)):     words(chat.OriginText.String(), chat.OriginFunction.String(), chat.OriginNative.String()),
	of(capture.Body{}):     json.RawMessage(`{"type":"string"}`),
	of(Role("")):           words(string(RoleClient), string(RoleApprover), string(RoleAdmin), string(RoleWorker)),
	of(Verdict("")):        words(string(VerdictAllow), string(VerdictEdit), string(VerdictDeny), string(VerdictStop)),
	of(journal.Status("")): words(journal.Statuses()...),
	of(record.State("")):   words(string(record.StateOpen), string(record.StateWaiting), string(record.StateEnded)),
	of(record.WaitFor("")): words(string(record.WaitApproval), string(record.WaitClient), string(record.WaitDrain),
		string(record.WaitRetry)),
	of(runner.ApprovalState("")): words(string(runner.ApprovalPending), string(runner.ApprovalApproved),
		string(runner.ApprovalEdited), string(runner.ApprovalDenied), string(runner.ApprovalExpired),
		string(runner.ApprovalCancelled), string(runner.ApprovalConsumed)),
	of(chat.Decision("")): words(string(chat.DecisionAllow), string(chat.DecisionAsk), string(chat.DecisionDeny)),
	of(Operation("")): words(string(policy.OpRead), string(policy.OpList), string(policy.OpWrite),
		string(policy.OpDelete)),
	of(Kind("")): words(string(KindInvalid), string(KindUnknown), string(KindForbidden), string(KindNotFound),
		string(KindMethod), string(KindDecided), string(KindEnded), string(KindConflict), string(KindExpired),
		string(KindTooLarge), string(KindMedia), string(KindSlow), string(KindUnavailable), string(KindInternal)),
}

// words returns the schema of a string that is one of some.
func words(list ...string) json.RawMessage {
	raw, err := json.Marshal(struct {
		Type string   `json:"type"`
		Enum []string `json:"enum"`
	}{"string", list})
	if err != nil {
		panic(err) // strings can be written
	}
	return raw
}
