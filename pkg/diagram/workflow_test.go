package diagram_test

import (
	"strings"
	"testing"
)

// TestMermaidOfWorkflows: each thing that a definition says is in the graph.
func TestMermaidOfWorkflows(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		states, more string
		want         string   // lines, in this order
		not          []string // parts of lines
	}{
		"initial and final (S1.5)": {
			states: `"a":{"on":{"GO":"done","NO":"failed","ODD":"odd"}},"odd":{"type":"final","outcome":"failure"}`,
			want: `[*] --> s0
				s0 --> s2 : GO
				s0 --> s3 : NO
				s0 --> s1 : ODD
				s1 --> [*] : failure
				s2 --> [*] : success
				s3 --> [*] : failure
				class s2 success
				class s1,s3 failure`,
		},
		"guards (S2.3)": {
			states: `"a":{"on":{"ONE":{"target":"done","guard":"g"},"TWO":{"target":"done","guards":["g","h"]}}}`,
			want: `s0 --> s1 : ONE [g]
				s0 --> s1 : TWO [g, h]`,
		},
		"branches in order, with a default (S2.4)": {
			states: `"a":{"on":{"E":[{"target":"done","guard":"g"},{"target":"a","guards":["h","g"]},{"target":"failed"}]}}`,
			want: `state c0 <<choice>>
				s0 --> c0 : E
				c0 --> s1 : 1 [g]
				c0 --> s0 : 2 [h, g]
				c0 --> s2 : 3 else`,
		},
		"one branch needs no choice": {
			states: `"a":{"on":{"E":[{"target":"done","guard":"g"}]}}`,
			want:   `s0 --> s1 : E [g]`,
			not:    []string{"choice"},
		},
		"safe_next (S2.2)": {
			states: `"a":{"safe_next":"done","on":{"NO":"failed"}}`,
			want: `s0 --> s2 : NO
				s0 --> s1 : any other event`,
		},
		"approval that parks (S9.1)": {
			states: `"a":{"on":{"GO":{"target":"done","requires_approval":true,"approval_message":"Sure?"}}}`,
			want:   `s0 --> s1 : GO, after approval`,
		},
		"approval that does not (S9.1)": {
			states: `"a":{"on":{"GO":{"target":"done","guard":"g","requires_approval":true}}}`,
			more:   `"meta":{"approval_mode":"none"},`,
			want:   `s0 --> s1 : GO [g], advisory approval`,
		},
		"self-transitions (S2.10)": {
			states: `"a":{"on":{"ONE":"a","GO":"done","TWO":"a"}}`,
			want: `s0 --> s0 : ONE #47; TWO
				s0 --> s1 : GO`,
		},
		"interrupts and $return (S4)": {
			states: `"a":{"on":{"GO":"done"}},"h":{"on":{"OK":"$return","AGAIN":"$return","NO":"failed"}}`,
			more:   `"interrupts":{"js":{"trigger":{"file_pattern":"src/**/*.js"},"target":"h"}},`,
			want: `state "#36;return" as r0
				state "any state" as a0
				s1 --> r0 : OK
				s1 --> r0 : AGAIN
				s1 --> s3 : NO
				a0 --> s1 : js#58; src#47;#42;#42;#47;#42;#46;js`,
			not: []string{"r1"},
		},
		"invoke (S5.5)": {
			states: `"a":{"on":{"TEST":{"invoke":"child:1","on_complete":"done","on_fail":"failed"},"B":{"invoke":"other","on_complete":"done"}}}`,
			want: `state "invoke child#58;1" as i0
				state "invoke other" as i1
				s0 --> i0 : TEST
				i0 --> s1 : succeeds
				i0 --> s2 : fails
				s0 --> i1 : B
				i1 --> s1 : succeeds`,
		},
		"fork (S5.1, S5.4)": {
			states: `"a":{"on":{"F":{"fork":{"branches":{"x":{"initial":"x1","terminal":"x2"},"y":{"initial":"y1","terminal":"y2"}},"on_complete":"done","on_fail":"failed"}}}},
				"x1":{"on":{"OK":"x2","NO":"failed"}},"x2":{"type":"final"},"y1":{"on":{"OK":"y2"}},"y2":{"type":"final"}`,
			want: `state "branch x" as b0 {
				state "x1" as s1
				state "x2" as s2
				[*] --> s1
				s1 --> s2 : OK
				s2 --> [*] : success
				}
				state "branch y" as b1 {
				[*] --> s3
				}
				state f0 <<fork>>
				state j0 <<join>>
				s0 --> f0 : F
				f0 --> b0
				b0 --> j0
				f0 --> b1
				b1 --> j0
				j0 --> s5 : all succeed
				j0 --> s6 : one fails
				b0 --> s6 : x1#58; NO`,
		},
		"fork that races (S5.4)": {
			states: `"a":{"on":{"F":{"fork":{"branches":{"x":{"initial":"x1","terminal":"x2"}},"join":"any","on_complete":"done","on_fail":"failed"}}}},"x1":{"on":{"OK":"x2"}},"x2":{"type":"final"}`,
			want: `j0 --> s3 : one succeeds
				j0 --> s4 : all fail`,
		},
		"an end that branches share is in none": {
			states: `"a":{"on":{"F":{"fork":{"branches":{"x":{"initial":"x1","terminal":"x2"},"y":{"initial":"y1","terminal":"y2"}},"on_complete":"done"}},"NO":"failed"}},
				"x1":{"on":{"OK":"x2","NO":"bad"}},"x2":{"type":"final"},"y1":{"on":{"OK":"y2","NO":"bad"}},"y2":{"type":"final"},"bad":{"type":"final","outcome":"failure"}`,
			want: `state "bad" as s5
				state "branch x" as b0 {
				b0 --> s5 : x1#58; NO
				b1 --> s5 : y1#58; NO
				s5 --> [*] : failure`,
		},
		"a branch that ends where the main flow does": {
			states: `"a":{"on":{"F":{"fork":{"branches":{"x":{"initial":"x1","terminal":"done"}},"on_complete":"b"}},"NO":"failed"}},
				"b":{"on":{"OK":"done"}},"x1":{"on":{"OK":"done"}}`,
			want: `f0 --> s2 : x
				s3 --> j0 : x
				s2 --> s3 : OK`,
			not: []string{"b0"},
		},
		"forks that share their branches": {
			states: `"a":{"on":{"F":{"fork":{"branches":{"x":{"initial":"x1","terminal":"x2"}},"on_complete":"b"}}}},"b":{"on":{"F":{"fork":{"branches":{"x":{"initial":"x1","terminal":"x2"}},"on_complete":"done"}},"NO":"failed"}},
				"x1":{"on":{"OK":"x2"}},"x2":{"type":"final"}`,
			want: `f0 --> b0
				b0 --> j0
				j0 --> s1 : all succeed
				s1 --> f1 : F
				f1 --> b0 : x #8594; x1
				b0 --> j1 : x2#58; x`,
			not: []string{"b1"},
		},
		"what a state allows": {
			states: `"a":{"allowed_tools":["Read","mcp__x__y"],"max_iterations":1,"max_files_per_state":3,"on":{"GO":"b"}},"b":{"allowed_tools":[],"on":{"GO":"done"}}`,
			want: `s0 : Read, mcp#95;#95;x#95;#95;y
				s0 : 1 call, 3 files
				s1 : no tools`,
		},
	}
	for what, tt := range tests {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			got := parse(t, workflowOf(tt.states, tt.more)).Mermaid()
			rest := strings.ReplaceAll("\n"+got, "\n    ", "\n")
			for strings.Contains(rest, "\n ") {
				rest = strings.ReplaceAll(rest, "\n ", "\n")
			}
			for line := range strings.SplitSeq(tt.want, "\n") {
				_, after, found := strings.Cut(rest, "\n"+strings.TrimSpace(line)+"\n")
				if !found {
					t.Fatalf("no line %q, or not after the others, in\n%s", strings.TrimSpace(line), got)
				}
				rest = "\n" + after
			}
			for _, not := range tt.not {
				if strings.Contains(got, not) {
					t.Errorf("%q is in\n%s", not, got)
				}
			}
		})
	}
}

// TestMermaidOfProcesses covers S8.2 and S8.3.
func TestMermaidOfProcesses(t *testing.T) {
	t.Parallel()
	got := parse(t, `{"name":"p","initial":"q","states":{
		"q":{"question":"Is it?","answers":{"yes":{"next":"r"},"so so":{"next":"r","action":"warn"},"ask":{"next":"r","action":"notify_human"},"no":{"next":null,"action":"block"}}},
		"r":{"question":"And?","answers":{"ok":{"next":null,"action":"complete"},"end":{"next":null},"on":{"next":"z"}}},"z":{}}}`).Mermaid()
	for _, line := range []string{
		`state "q" as s0`, `s0 : Is it#63;`, `[*] --> s0`, `s0 --> s1 : yes`, `s0 --> s1 : so so, with a warning`, `s0 --> s1 : ask, after approval`,
		`state "blocked" as s3`, `s0 --> s3 : no`, `state "completed" as s4`, `s1 --> s4 : ok`, `s1 --> s4 : end`, `s1 --> s2 : on`,
		`s2 --> [*] : success`, `s3 --> [*] : failure`, `s4 --> [*] : success`,
	} {
		if !strings.Contains(got, "    "+line+"\n") {
			t.Errorf("no line %q in\n%s", line, got)
		}
	}
}
