package document

import (
	"fmt"
	"testing"
)

// tasksState is a state of n tasks, of some 200 bytes each.
func tasksState(n int) Value {
	tasks := make([]Value, n)
	for i := range tasks {
		tasks[i] = ObjectValue([]Member{
			{"name", StringValue(fmt.Sprintf("task %d of the migration", i))},
			{"status", StringValue("in_progress")},
			{"result", StringValue("moved the tables, checked the indexes, wrote the notes and asked for review of the change set")},
			{"assigned_to", NullValue()},
		})
	}
	return ObjectValue([]Member{
		{"tasks", ArrayValue(tasks)},
		{"status", StringValue("running")},
		{"metadata", ObjectValue([]Member{{"owner", StringValue("platform")}, {"attempt", NumberValue("3")}})},
	})
}

func benchmarkPatch(b *testing.B, tasks int) {
	doc := tasksState(tasks)
	patch, problems := ParsePatch(fmt.Appendf(nil, `[{"op":"replace","path":"/tasks/%d/status","value":"completed"}]`, tasks/2), PatchLimits{})
	if problems != nil {
		b.Fatal(problems)
	}
	b.ReportMetric(float64(len(doc.String())), "bytes")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := patch.Apply(doc, PatchLimits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPatch1KB(b *testing.B)   { benchmarkPatch(b, 5) }
func BenchmarkPatch100KB(b *testing.B) { benchmarkPatch(b, 500) }

func BenchmarkParsePatch(b *testing.B) {
	src := []byte(`[{"op":"replace","path":"/tasks/2/status","value":"completed"}]`)
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := ParsePatch(src, PatchLimits{}); problems != nil {
			b.Fatal(problems)
		}
	}
}
