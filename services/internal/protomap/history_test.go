package protomap_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// Every word that the core writes into history has a value of its own, and every value a
// word.
func TestHistoryTypes(t *testing.T) {
	t.Parallel()
	// These are announced, and follow from a change that is in the history, or change nothing.
	announced := []string{"EventRejected", "EventCompleted", "EventFailed", "EventBlocked", "EventWarned", "EventBranchEnded", "EventJoined", "EventTimerRestored"}
	file, err := parser.ParseFile(token.NewFileSet(), "../../../pkg/workflow/history.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"tool_result"}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Event") || slices.Contains(announced, spec.Names[0].Name) {
			return true
		}
		word, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, word)
		return true
	})
	for _, word := range words {
		value := protomap.HistoryType(word)
		if value == enginev1.HistoryType_HISTORY_TYPE_UNSPECIFIED || protomap.HistoryWord(value) != word {
			t.Errorf("%q is %s, which is %q", word, value, protomap.HistoryWord(value))
		}
		if want := "HISTORY_TYPE_" + strings.ToUpper(strings.ReplaceAll(word, ".", "_")); value.String() != want {
			t.Errorf("%q is %s, want %s", word, value, want)
		}
	}
	if want := len(enginev1.HistoryType_name) - 1; len(words) != want {
		t.Errorf("the core has %d words, and the contract %d: %q", len(words), want, words)
	}
	if got := protomap.HistoryWord(99); got != "99" {
		t.Errorf("a value of another version is %q", got)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	const prefix = "JOIN_MODE_"
	for value, want := range map[enginev1.JoinMode]string{
		enginev1.JoinMode_JOIN_MODE_UNSPECIFIED: "", enginev1.JoinMode_JOIN_MODE_ALL: "ALL", 99: "99",
	} {
		if got := protomap.Word(value, prefix); got != want {
			t.Errorf("%d is %q, want %q", value, got, want)
		}
		if got := protomap.LowerWord(value, prefix); got != strings.ToLower(want) {
			t.Errorf("%d is %q in lower case", value, got)
		}
	}
	if got := protomap.Names(enginev1.JoinMode_name, prefix); !slices.Equal(got, []string{"ALL", "ANY"}) {
		t.Errorf("names are %q", got)
	}
	gap := map[int32]string{4: prefix + "D", 0: prefix + "UNSPECIFIED", 1: prefix + "A"}
	if got := protomap.Names(gap, prefix); !slices.Equal(got, []string{"A", "D"}) {
		t.Errorf("names with a gap are %q", got)
	}
	if got := protomap.LowerEnums[string, enginev1.JoinMode](enginev1.JoinMode_value, prefix); len(got) != 3 || got["any"] != enginev1.JoinMode_JOIN_MODE_ANY {
		t.Errorf("values are %v", got)
	}
}
