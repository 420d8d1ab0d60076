package document

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
)

// FuzzPatch holds Apply against a peer (evanphx/json-patch), and holds that a
// diff of the two documents gives the later one back.
//
// The peer is asked only where it is right. It is not where peerIsWrong says.
func FuzzPatch(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":1}`, `[{"op":"add","path":"/b","value":null}]`},
		{`[1,2,3]`, `[{"op":"move","from":"/0","path":"/-"},{"op":"remove","path":"/0"}]`},
		{`{"a":{"b":[1]}}`, `[{"op":"copy","from":"/a","path":"/c"},{"op":"replace","path":"/c/b/0","value":2}]`},
		{`{"m~n":1,"a/b":[]}`, `[{"op":"test","path":"/m~0n","value":1.0},{"op":"add","path":"/a~1b/0","value":"x"}]`},
		{`{"":{"":1}}`, `[{"op":"replace","path":"//","value":{}},{"op":"remove","path":"/"}]`},
		{`[[1],{"x":2}]`, `[{"op":"move","from":"/1/x","path":"/0/1"}]`},
		{`{"a":1}`, `[{"op":"remove","path":"/b"}]`},
		{`[0]`, `[{"op":"add","path":"/01","value":1}]`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, docText, patchText []byte) {
		doc, problem := Parse(docText, Limits{})
		if problem != nil {
			return
		}
		patch, problems := ParsePatch(patchText, PatchLimits{})
		if problems.HasErrors() {
			return
		}
		got, err := patch.Apply(doc, PatchLimits{})
		if err != nil {
			var same *PatchError
			if !errors.As(err, &same) || err.Message == "" || err.member == "" || !strings.HasPrefix(err.Problem().Pointer, "/") {
				t.Fatalf("%s on %s: %v", patchText, docText, err)
			}
		} else {
			diff := Diff(doc, got)
			if again, err := diff.Apply(doc, PatchLimits{}); err != nil || !bytes.Equal(again.AppendJSON(nil), got.AppendJSON(nil)) {
				t.Fatalf("%s to %s by %s: %v", doc, got, diff, err)
			}
		}
		if peerIsWrong(doc, patch, err) {
			return
		}
		comparePeer(t, doc, patch, got, err)
	})
}

func comparePeer(t interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}, doc Value, patch *Patch, got Value, refused *PatchError,
) {
	t.Helper()
	decoded, err := jsonpatch.DecodePatch(patch.AppendJSON(nil))
	if err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	options := jsonpatch.NewApplyOptions()
	options.SupportNegativeIndices = false
	peer, err := decoded.ApplyWithOptions(doc.AppendJSON(nil), options)
	if (err == nil) != (refused == nil) {
		t.Fatalf("%s on %s: got %s, %v, the peer has %s, %v", patch, doc, got, refused, peer, err)
	}
	if refused == nil && !Equal(got, must(t, string(peer))) {
		t.Fatalf("%s on %s: got %s, the peer has %s", patch, doc, got, peer)
	}
}

// peerIsWrong reports the patches on which v5.9.11 of the peer departs from RFC
// 6902, or from our limits. It takes an empty segment for the holder, also for
// the whole document; knows no document but a list or an object; takes 01 for 1;
// compares numbers as text; finds null at missing places, and panics at null
// within a list; and moves a value into itself.
func peerIsWrong(doc Value, patch *Patch, refused *PatchError) bool {
	if refused != nil && slices.Contains([]Code{CodeTooDeep, CodePatchTooLarge, CodePatchTooCostly, CodePatchMoveIntoSelf}, refused.Code) {
		return true
	}
	if doc.Kind() != Array && doc.Kind() != Object || oddNumbers(doc) {
		return true
	}
	return slices.ContainsFunc(patch.operations, func(o operation) bool {
		return oddPointer(o.path) || o.hasFrom() && oddPointer(o.from) || o.hasValue() && oddNumbers(o.value) || o.op == opTest && hasNull(o.value)
	})
}

func oddPointer(p pointer) bool {
	return p.text == "" || slices.ContainsFunc(p.segments, func(segment string) bool {
		n, err := strconv.Atoi(segment)
		return segment == "" || err == nil && strconv.Itoa(n) != segment
	})
}

func oddNumbers(v Value) bool {
	odd := false
	walk(v, func(v Value) {
		n, ok := v.Number().Int64()
		odd = odd || v.Kind() == Number && (!ok || strconv.FormatInt(n, 10) != v.text)
	})
	return odd
}

// TestPatchPeer is FuzzPatch on drawn patches, most of which can be applied.
func TestPatchPeer(t *testing.T) {
	t.Parallel()
	asked := 0
	randtest.Check(t, func(t *rapid.T) {
		doc := drawValue(t, 3)
		patch, problems := ParsePatch([]byte(drawPatch(t, doc, 4)), PatchLimits{})
		if problems != nil {
			t.Fatal(problems)
		}
		got, err := patch.Apply(doc, PatchLimits{})
		if !peerIsWrong(doc, patch, err) {
			asked++
			comparePeer(t, doc, patch, got, err)
		}
	})
	if asked == 0 {
		t.Error("the peer was never asked")
	}
}
