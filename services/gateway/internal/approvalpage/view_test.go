package approvalpage

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// hostile is what an agent could write anywhere.
const hostile = "<script>alert(1)</script>\"'><img src=x onerror=y>{{.}}\u202e\u2066\u200b\ufeff\x1b[2J\x07\x00\r \u0301\U000e0041javascript:x"

// TestHostileText: whatever stands in an approval and in the history of its run,
// nothing of it is markup or hides, on any page.
func TestHostileText(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"text": hostile, "JSON": `{"` + strings.NewReplacer(`"`, `\"`, "\x1b", "", "\x07", "", "\x00", "", "\r", "").Replace(hostile) + `":1}`,
	} {
		for _, status := range []approvalv1.ApprovalStatus{
			approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING, approvalv1.ApprovalStatus_APPROVAL_STATUS_STALE,
		} {
			t.Run(fmt.Sprint(name, status), func(t *testing.T) {
				t.Parallel()
				o := newOffice(t)
				fill(o.approval.ProtoReflect(), data)
				o.approval.Status, o.approval.ApprovalId, o.approval.Editable = status, "apr_01", true
				h := &enginev1.HistoryEntry{}
				fill(h.ProtoReflect(), data)
				h.RunVersion = 7
				o.history = []*enginev1.HistoryEntry{h}
				o.logIn()
				for _, path := range []string{"/approvals", "/approvals/apr_01"} {
					got := o.get(path)
					o.is(got, 200, "⟦U+202E⟧")
					harmless(t, got.body)
				}
				o.approval.ApprovalId = "x" + hostile
				harmless(t, o.get("/approvals").body)
				if name == "JSON" {
					o.approval.ApprovalId = "apr_01"
					o.is(o.get("/approvals/apr_01"), 200, `\u202e`)
				}
			})
		}
	}
}

// fill writes text into every field that takes text, and one element into lists.
func fill(m protoreflect.Message, text string) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		value := func() protoreflect.Value {
			switch fd.Kind() {
			case protoreflect.StringKind:
				return protoreflect.ValueOfString(hostile)
			case protoreflect.BytesKind:
				return protoreflect.ValueOfBytes([]byte(text))
			default:
				return protoreflect.Value{}
			}
		}
		switch {
		case fd.IsList() && fd.Message() != nil:
			fill(m.Mutable(fd).List().AppendMutable().Message(), text)
		case fd.IsList():
			if v := value(); v.IsValid() {
				m.Mutable(fd).List().Append(v)
			}
		case fd.Message() != nil && fd.Message().FullName() == (&timestamppb.Timestamp{}).ProtoReflect().Descriptor().FullName():
			m.Set(fd, protoreflect.ValueOfMessage(timestamppb.New(noon).ProtoReflect()))
		case fd.Message() != nil:
			fill(m.Mutable(fd).Message(), text)
		default:
			if v := value(); v.IsValid() {
				m.Set(fd, v)
			}
		}
	}
}

// harmless checks that hostile text is only text.
func harmless(t *testing.T, body string) {
	t.Helper()
	for _, markup := range []string{"<script", "<img", "'><"} {
		if at := strings.Index(body, markup); at >= 0 {
			t.Errorf("%s is markup: %q", markup, body[max(0, at-80):at+20])
		}
	}
	for i, r := range body {
		if r != '\n' && !unicode.IsPrint(r) || r == '\u0301' {
			t.Errorf("%U is hidden in %q", r, body[max(0, i-60):i])
			return
		}
	}
}

// TestWhat: the list says in a few words what is asked for.
func TestWhat(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]string{
		`{"event":"GO"}`: "Tool call GO", `{"capability":"bash"}`: "Tool call bash", `{"event":1}`: "Tool call", `{}`: "Tool call", ``: "Tool call",
		`{"event":"` + strings.Repeat("é", 300) + `"}`: "Tool call " + strings.Repeat("é", 100) + " ... (600 bytes in all)",
	} {
		if got := what(&approvalv1.Approval{Kind: approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL, Subject: []byte(subject)}); got != want {
			t.Errorf("%s: %q", subject, got)
		}
	}
	for kind, want := range map[approvalv1.ApprovalKind]string{
		approvalv1.ApprovalKind_APPROVAL_KIND_TRANSITION: "Transition", approvalv1.ApprovalKind_APPROVAL_KIND_PROCESS_STEP: "Process step", 9: "Action",
	} {
		if got := what(&approvalv1.Approval{Kind: kind}); got != want {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

// TestPretty: JSON is shown whole and exactly.
func TestPretty(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                  "",
		`{"n":9007199254740993,"b":[1.10]}`: "{\n  \"n\": 9007199254740993,\n  \"b\": [\n    1.10\n  ]\n}",
		"\"\u202e\"":                        `"\u202e"`,
		"{\x1b":                             "{⟦U+001B⟧",
		"\"\xff\"":                          "\"⟦0xFF⟧\"",
	} {
		if got := pretty([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestMoment(t *testing.T) {
	t.Parallel()
	for away, want := range map[time.Duration]string{
		30 * time.Second: "2026-03-04T12:00:30Z (in less than a minute)", 0: "2026-03-04T12:00:00Z (less than a minute ago)",
		-90 * time.Minute: "2026-03-04T10:30:00Z (1 h 30 min ago)", 59 * time.Minute: "2026-03-04T12:59:00Z (in 59 min)",
		72 * time.Hour: "2026-03-07T12:00:00Z (in 3 days)",
	} {
		if got := moment(timestamppb.New(noon.Add(away)), noon); got != want {
			t.Errorf("%s: %q", away, got)
		}
	}
	if got := moment(nil, noon); got != "" {
		t.Errorf("none: %q", got)
	}
}

// TestRecent: the newest changes are shown, wherever they are, and an approval is
// shown without them.
func TestRecent(t *testing.T) {
	t.Parallel()
	entries := func(versions ...int64) (all []*enginev1.HistoryEntry) {
		for _, v := range versions {
			all = append(all, &enginev1.HistoryEntry{
				RunVersion: v, Time: timestamppb.New(noon), Actor: "agent-7", Type: enginev1.HistoryType_HISTORY_TYPE_TRANSITIONED, Event: fmt.Sprint("E", v), From: "a", To: "b",
			})
		}
		return all
	}
	count := func(n int64, every int64) (versions []int64) {
		for v := int64(1); v <= n; v++ {
			versions = append(versions, v*every)
		}
		return versions
	}
	for name, tc := range map[string]struct {
		version int64
		history []*enginev1.HistoryEntry
		first   string
		shown   int
	}{
		"none":         {0, nil, "", 0},
		"few":          {7, entries(1, 2, 7), "E1:", 3},
		"many":         {50, entries(count(50, 1)...), "E31:", 20},
		"far between":  {5000, entries(count(50, 100)...), "E3100:", 20},
		"in between":   {300, entries(count(100, 3)...), "E243:", 20},
		"long ago":     {900_000, entries(1, 2), "", 0},
		"and just now": {900_000, entries(1, 2, 899_990), "E899990:", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.version, o.history = tc.version, tc.history
			o.logIn()
			got := o.get("/approvals/apr_01")
			o.is(got, 200, "Previous steps of this run")
			_, table, _ := strings.Cut(got.body, "Previous steps of this run")
			if n := strings.Count(table, "transitioned E"); n != tc.shown || n > 0 && !strings.Contains(table, "transitioned "+tc.first) {
				t.Errorf("shows %d: %s", n, table)
			}
		})
	}
	t.Run("not to be read", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.errs["History"] = fault.New(fault.Unavailable, "try again")
		o.logIn()
		o.is(o.get("/approvals/apr_01"), 200, "The history cannot be read: try again", "Deploy it?")
		o.approval = proto.CloneOf(o.approval)
		o.approval.RunId = ""
		o.is(o.get("/approvals/apr_01"), 200, "outside a run")
	})
}

// Times that are left are told to the minute, as far as minutes matter.
func TestDistance(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		30 * time.Second: "less than a minute", 59 * time.Minute: "59 min", time.Hour: "1 h", 119*time.Minute + 59*time.Second: "1 h 59 min",
		47*time.Hour + time.Minute: "47 h 1 min", 48 * time.Hour: "2 days", 71 * time.Hour: "2 days",
	} {
		if got := distance(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
