package condition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// TestMissing judges values that are missing or null (S21.4).
func TestMissing(t *testing.T) {
	t.Parallel()
	for _, op := range []string{
		`"x"`, `["x", "y"]`, `{"eq": 1}`, `{"neq": "x"}`, `{"gt": 1}`, `{"gte": 1}`, `{"lt": 1}`, `{"lte": 1}`, `{"in": ["x"]}`,
		`{"like": "*"}`, `{"contains": "x"}`, `{"length": {"gte": 0}}`, `{"bytes": {"gte": 0}}`, `{"count": {"gte": 0}}`,
	} {
		var rows []on
		for _, input := range []string{`{}`, `{"b": 1}`, `{"a": null}`} {
			rows = append(rows, on{`{"/a": ` + op + `}`, input, doubt, doubt}, on{`{"not": {"/a": ` + op + `}}`, input, doubt, doubt})
		}
		for _, input := range []string{`{}`, `{"a": 1}`, `{"a": null}`, `{"a": true}`, `{"a": "x"}`, `{"a": {}}`, `{"a": []}`} {
			rows = append(rows, on{`{"/a/b": ` + op + `}`, input, doubt, doubt})
		}
		judgeAll(t, rows, nil)
	}
	judgeAll(t, []on{
		{`{"/a": {"exists": true}}`, `{}`, no, no},
		{`{"/a": {"not_exists": true}}`, `{}`, yes, yes},
		{`{"/a": {"exists": true}}`, `{"a": null}`, no, no},
		{`{"/a": {"not_exists": true}}`, `{"a": null}`, yes, yes},
		{`{"/a": {"exists": true}}`, `{"a": 0}`, yes, yes},
		{`{"/a": {"exists": true}}`, `{"a": ""}`, yes, yes},
		{`{"/a": {"exists": true}}`, `{"a": false}`, yes, yes},
		{`{"/a": {"exists": true, "lte": 5}}`, `{}`, no, no},
		{`{"/a": {"exists": true, "lte": 5}}`, `{"a": 5}`, yes, yes},
		{`{"/a": {"exists": true, "lte": 5}}`, `{"a": "5"}`, doubt, doubt},
		{`{"/a": {"not_exists": true, "lte": 5}}`, `{"a": 5}`, no, no},
		{`{"/a/b": {"exists": true}}`, `{}`, no, no},
		{`{"/a/b": {"exists": true}}`, `{"a": 1}`, no, no},
		{`{"/a/b": {"not_exists": true}}`, `{"a": true}`, yes, yes},
		{`{"/a/b": {"not_exists": true}}`, `{"a": "x"}`, doubt, doubt}, // a program may read the text as JSON
		{`{"/a": null}`, `{"a": null}`, yes, yes},
		{`{"/a": null}`, `{"a": 0}`, no, no},
		{`{"/a": null}`, `{}`, doubt, doubt},
		{`{"/a": {"neq": null}}`, `{"a": 0}`, yes, yes},
		{`{"/a": {"neq": null}}`, `{}`, doubt, doubt},
		{`{"/a": [null, "x"]}`, `{"a": null}`, yes, yes},
		{`{"/a": [null, "x"]}`, `{"a": "x"}`, yes, yes},
		{`{"/a": [null, "x"]}`, `{"a": "y"}`, no, no},
		{`{"/a": [null, "x"]}`, `{"a": 1}`, doubt, doubt},
		{`{"/a": [null]}`, `{"a": 1}`, no, no},
		{`{"/a": {"or": "x", "in": ["x"]}}`, `{}`, yes, yes},
		{`{"/a": {"or": "x", "in": ["y"]}}`, `{}`, no, no},
		{`{"/a": {"or": "x", "in": ["x"]}}`, `{"a": null}`, doubt, doubt}, // tools read null in several ways
		{`{"/a": {"or": "x", "neq": "x"}}`, `{}`, no, no},
		{`{"/a/b": {"or": 1, "lte": 1}}`, `{}`, yes, yes},
		{`{"/a/b": {"or": 1, "lte": 1}}`, `{"a": 1}`, doubt, doubt},
		{`{"/a/*": {"or": 1, "lte": 1}}`, `{}`, yes, yes},
		{`{"/a/*": {"or": 1, "lte": 1}}`, `{"a": []}`, no, doubt},
		{`{"/a/*/b": {"or": 1, "lte": 1}}`, `{"a": [{}, {"b": 1}]}`, yes, yes},
		{`{"/a/*/b": {"exists": true}}`, `{"a": [{}, {"b": 1}]}`, yes, no},
		{`{"/a/*/b": {"exists": true}}`, `{"a": []}`, no, doubt},
		{`{"/a": {"count": 0}}`, `{"a": []}`, yes, yes},
		{`{"/a/*": {"count": 0}}`, `{"a": []}`, yes, yes},
		{`{"/a/*": {"count": 0}}`, `{}`, doubt, doubt},
	}, nil)
}

// TestKinds: no value is converted to the kind of a literal (S21.4).
func TestKinds(t *testing.T) {
	t.Parallel()
	literals := map[string]string{"text": `"x"`, "number": `1`, "bool": `true`}
	values := map[string][]string{
		"text": {`"x"`, `"1"`, `"true"`, `""`, `"null"`}, "number": {`1`, `0`, `-1`, `1e0`}, "bool": {`true`, `false`},
		"list": {`[]`, `["x"]`, `[1]`, `[true]`}, "object": {`{}`, `{"x": 1}`},
	}
	for literal, text := range literals {
		for kind, all := range values {
			if kind == literal {
				continue
			}
			for _, v := range all {
				input := `{"a": ` + v + `}`
				for _, op := range []string{`%s`, `{"eq": %s}`, `{"neq": %s}`, `{"in": [%s]}`} {
					c := `{"/a": ` + fmt.Sprintf(op, text) + `}`
					judgeAll(t, []on{{c, input, doubt, doubt}, {`{"not": ` + c + `}`, input, doubt, doubt}}, nil)
				}
				if literal == "bool" {
					continue
				}
				for _, op := range []string{"gt", "gte", "lt", "lte"} {
					judgeAll(t, []on{{fmt.Sprintf(`{"/a": {%q: %s}}`, op, text), input, doubt, doubt}}, nil)
				}
			}
		}
	}
	judgeAll(t, []on{
		{`{"/a": {"like": "*"}}`, `{"a": 1}`, doubt, doubt},
		{`{"/a": {"like": "*"}}`, `{"a": ["x"]}`, doubt, doubt},
		{`{"/a": {"contains": "x"}}`, `{"a": 1}`, doubt, doubt},
		{`{"/a": {"contains": "x"}}`, `{"a": {"x": 1}}`, doubt, doubt},
		{`{"/a": {"contains": "x"}}`, `{"a": [1, "x"]}`, yes, yes},
		{`{"/a": {"contains": "x"}}`, `{"a": [1, "y"]}`, doubt, doubt},
		{`{"/a": {"contains": "x"}}`, `{"a": ["y"]}`, no, no},
		{`{"/a": {"contains": "x"}}`, `{"a": []}`, no, no},
		{`{"/a": {"contains": 1}}`, `{"a": "1"}`, doubt, doubt},
		{`{"/a": {"contains": 1}}`, `{"a": [1.0]}`, yes, yes},
		{`{"/a": {"length": 1}}`, `{"a": 1}`, doubt, doubt},
		{`{"/a": {"length": 1}}`, `{"a": ["x"]}`, doubt, doubt},
		{`{"/a": {"length": 1}}`, `{"a": "ä"}`, yes, yes},
		{`{"/a": {"bytes": 1}}`, `{"a": "ä"}`, no, no},
		{`{"/a": {"bytes": [1, 2]}}`, `{"a": "ä"}`, yes, yes},
		{`{"/a": {"count": 1}}`, `{"a": "x"}`, doubt, doubt},
		{`{"/a": {"count": 1}}`, `{"a": {"b": 1}}`, doubt, doubt},
		{`{"/a": ["x", 1]}`, `{"a": true}`, doubt, doubt},
		{`{"/a": ["x", 1]}`, `{"a": 2}`, no, no},
		{`{"/a/*": "x"}`, `{"a": "x"}`, doubt, doubt},
		{`{"/a/*": "x"}`, `{"a": {"0": "x"}}`, doubt, doubt},
		{`{"/a/*": "x"}`, `{"a": [["x"]]}`, doubt, doubt},
		{`{"/a/0": "x"}`, `{"a": ["x"]}`, yes, yes},
		{`{"/a/1": "x"}`, `{"a": ["x"]}`, doubt, doubt},
		{`{"/a/00": "x"}`, `{"a": ["x"]}`, doubt, doubt},
		{`{"/a/-": "x"}`, `{"a": ["x"]}`, doubt, doubt},
		{`{"/a/99999999999999999999": "x"}`, `{"a": ["x"]}`, doubt, doubt},
		{`{"/a/0": {"exists": true}}`, `{"a": []}`, no, no},
		{`{"/a/0~1b": "x"}`, `{"a": [{"b": "x"}]}`, doubt, doubt}, // one step, and no element
		{`{"/a/0~1b": {"not_exists": true}}`, `{"a": [{"b": "x"}]}`, doubt, doubt},
		{`{"/a~1b": 1}`, `{"a/b": 1}`, yes, yes},
		{`{"/a~0b": 1}`, `{"a~b": 1}`, yes, yes},
		{`{"/": 1}`, `{"": 1}`, yes, yes},
		{`{"/a": 1}`, `[{"a": 1}]`, doubt, doubt},
		{`{"/a": 1}`, `"a"`, doubt, doubt},
		{`{"/a": 1}`, ``, doubt, doubt},
		{`{"/a": 1}`, `{"a": 1} {"a": 1}`, doubt, doubt},
	}, nil)
}

// TestNames: another member that could be read as the name of a step puts it in doubt (S21.4).
func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Amount", "AMOUNT", "aMount", `\u0041mount`, "amount ", " amount", "a-mount", "a_mount", "_amount", `amount\u0000`, `\ufeffamount`, `amount\u200b`,
		`am\u00adount`, `\u0430mount`, `am\u043eunt`, `\uff41mount`, `amo\u00fant`, `am\u03bfunt`, `ａｍｏｕｎｔ`, `\ud835\udc1amount`, `am\u2060ount`, `amo\u0301unt`,
	} {
		for _, input := range []string{`{"amount": 1, "` + name + `": 1000}`, `{"` + name + `": 1000, "amount": 1}`, `{"` + name + `": 1}`} {
			judgeAll(t, []on{
				{`{"/amount": {"lte": 100}}`, input, doubt, doubt},
				{`{"/amount": {"gt": 100}}`, input, doubt, doubt},
				{`{"/amount": {"not_exists": true}}`, input, doubt, doubt},
				{`{"/o/amount": 1}`, `{"o": ` + input + `}`, doubt, doubt},
				{`{"/l/*/amount": {"gt": 100}}`, `{"l": [` + input + `]}`, doubt, doubt},
			}, nil)
		}
	}
	for _, input := range []string{`{"amount": 1, "am\u006funt": 2}`, `{"amount": 1, "amount": 1}`, `{"amount": 1, "x": {"y": 1, "y": 1}}`} {
		judgeAll(t, []on{{`{"/amount": 1}`, input, doubt, doubt}, {`{"/z": {"not_exists": true}}`, input, doubt, doubt}}, nil)
	}
	judgeAll(t, []on{
		{`{"/amount": 1}`, `{"am\u006funt": 1}`, yes, yes},
		{`{"/amount": 1}`, `{"amount": 1, "amounts": 2, "mount": 3, "amount2": 4, "": 5, "-": 6}`, yes, yes},
		{`{"/amount": 1}`, `{"amount": 1, "Menge": 2, "金额": 3, "sum": {"Amount": 4}}`, yes, yes},
		{`{"/amount_limit": 1}`, `{"amountLimit": 1}`, doubt, doubt},
		{`{"/метка": 1}`, `{"метка": 1}`, yes, yes},
		{`{"/метка": 1}`, `{"метка": 1, "Метка": 2}`, doubt, doubt},
	}, nil)
}

// TestTextsOfJSON: a text is not entered, and a program that would is not followed (S21.4).
func TestTextsOfJSON(t *testing.T) {
	t.Parallel()
	for _, v := range []string{`"{\"b\": 1}"`, `"{\"b\": 2}"`, `"[1]"`, `" {\"b\": 1}"`, `"x"`, `""`, `"{\"b\""`} {
		input := `{"a": ` + v + `}`
		judgeAll(t, []on{
			{`{"/a/b": 1}`, input, doubt, doubt},
			{`{"/a/b": {"exists": true}}`, input, doubt, doubt},
			{`{"/a/b": {"not_exists": true}}`, input, doubt, doubt},
			{`{"/a/b": {"or": 1, "eq": 1}}`, input, doubt, doubt},
			{`{"/a/*": {"or": 1, "eq": 1}}`, input, doubt, doubt},
			{`{"/a/b": {"count": 0}}`, input, doubt, doubt},
		}, nil)
	}
	const evil = `{"anywhere": {"like": "*evil*"}}`
	quote := func(times int, text string) string {
		for range times {
			text = document.StringValue(text).String()
		}
		return text
	}
	for _, input := range []string{
		`{"a": "evil"}`, `{"evil": 1}`, `{"a": {"evil": 1}}`, `{"a": ["x", ["evil"]]}`, `{"a": "{\"b\": \"evil\"}"}`, `{"a": "{\"evil\": 1}"}`,
		`{"a": "[\"ev\\u0069l\"]"}`, `{"a": " \n{\"b\": \"ev\\u0069l\"}"}`, `{"a": "\ufeff[\"ev\\u0069l\"]"}`, `{"a": "\"ev\\u0069l\""}`,
		`{"a": ` + quote(3, `["ev\u0069l"]`) + `}`, `{"a": "x evil y"}`, `{"a": 1, "b": "[1, evil]"}`,
	} {
		judgeAll(t, []on{{evil, input, yes, doubt}}, nil)
	}
	for _, input := range []string{
		`{"a": ` + quote(7, `["ev\u0069l"]`) + `}`, `{"a": "{\"b\": 1, \"b\": 2}"}`, `{"a": 1, "a": 2}`, `{"a": "` + strings.Repeat(`[`, 70) + strings.Repeat(`]`, 70) + `"}`,
	} {
		judgeAll(t, []on{{evil, input, doubt, doubt}}, nil)
	}
	for _, input := range []string{`{}`, `{"a": "live"}`, `{"a": "[draft] notes"}`, `{"a": "{"}`, `{"a": 1, "b": [true, null]}`, `{"a": "\"x\""}`} {
		judgeAll(t, []on{{evil, input, no, doubt}}, nil)
	}
}

// TestNumbers compares exact decimals; a number that programs with doubles read as another one is in doubt (S21.4).
func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, same := range []string{`100`, `100.0`, `1e2`, `1E2`, `1.00e+2`, `1000e-1`, `0.1e3`} {
		input := `{"a": ` + same + `}`
		judgeAll(t, []on{
			{`{"/a": 100}`, input, yes, yes},
			{`{"/a": {"lte": 100}}`, input, yes, yes},
			{`{"/a": {"lt": 100}}`, input, no, no},
			{`{"/a": {"gte": 100.0}}`, input, yes, yes},
			{`{"/a": {"gt": 1e2}}`, input, no, no},
			{`{"/a": {"neq": 100}}`, input, no, no},
			{`{"/a": [99, 1e2]}`, input, yes, yes},
		}, nil)
	}
	judgeAll(t, []on{
		{`{"/a": 0}`, `{"a": -0}`, yes, yes},
		{`{"/a": {"gte": 0}}`, `{"a": -0.0}`, yes, yes},
		{`{"/a": {"lte": 0.3}}`, `{"a": 0.30000000000000001}`, doubt, doubt},
		{`{"/a": {"lte": 100}}`, `{"a": 100.00000000000001}`, no, doubt},
		{`{"/a": {"lte": 100}}`, `{"a": 1e308}`, no, doubt},
		{`{"/a": {"lte": 100}}`, `{"a": 1e400}`, doubt, doubt}, // refused as input
		{`{"/a": {"lte": 100}}`, `{"a": NaN}`, doubt, doubt},
		{`{"/a": {"lte": 100}}`, `{"a": Infinity}`, doubt, doubt},
		{`{"/a": {"lte": 100}}`, `{"a": 0x10}`, doubt, doubt},
		{`{"/a": {"lte": 100}}`, `{"a": 010}`, doubt, doubt},
		{`{"/a": {"lte": 100}}`, `{"a": +1}`, doubt, doubt},
		{`{"/a": {"lte": 100}}`, `{"a": 1_0}`, doubt, doubt},
		{`{"/a": {"lte": 100}}`, `{"a": -1000}`, yes, yes}, // the author writes "gte": 0 too; money has it by itself
		{`{"/a": {"lte": 9007199254740992}}`, `{"a": 9007199254740992}`, yes, yes},
		{`{"/a": {"lte": 9007199254740992}}`, `{"a": 9007199254740993}`, doubt, doubt},
		{`{"/a": {"gt": 9007199254740992}}`, `{"a": 9007199254740993}`, doubt, doubt},
		{`{"/a": 9007199254740993}`, `{"a": 9007199254740993}`, yes, yes},
		{`{"/a": 9007199254740993}`, `{"a": 9007199254740992}`, doubt, doubt},
		{`{"/a": 9007199254740992}`, `{"a": 9007199254740993}`, doubt, doubt},
		{`{"/a": {"neq": 9007199254740992}}`, `{"a": 9007199254740993}`, doubt, doubt},
		{`{"/a": [1, 9007199254740992]}`, `{"a": 9007199254740993}`, doubt, doubt},
		{`{"/a": 9007199254740992}`, `{"a": 9007199254740995}`, no, no},
		{`{"/a": {"contains": 9007199254740992}}`, `{"a": [9007199254740993]}`, doubt, doubt},
		{`{"/a": {"gte": 100}}`, `{"a": 99.99999999999999999999}`, doubt, doubt},
		{`{"/a": {"lt": 100}}`, `{"a": 99.99999999999999999999}`, doubt, doubt},
		{`{"/a": 100}`, `{"a": 99.99999999999999999999}`, doubt, doubt},
		{`{"/a": {"gt": 0}}`, `{"a": 1e-400}`, doubt, doubt},
		{`{"/a": {"lte": 1}}`, `{"a": 123456789012345678}`, no, doubt},
		{`{"/a": {"gte": 1}}`, `{"a": 900719925474099.5}`, yes, doubt},
		{`{"/a": {"gte": 1}}`, `{"a": 0.00000000000000000000000000000012345}`, no, no},
	}, nil)
}

// TestLists judges lists in both quantifiers (S21.3), and those that are too long.
func TestLists(t *testing.T) {
	t.Parallel()
	numbers := func(n int) string { return strings.TrimSuffix(strings.Repeat("1,", n), ",") }
	judgeAll(t, []on{
		{`{"/l/*": 1}`, `{"l": [1, 1]}`, yes, yes},
		{`{"/l/*": 1}`, `{"l": [1, 2]}`, yes, no},
		{`{"/l/*": 1}`, `{"l": [2, "1"]}`, doubt, no},
		{`{"/l/*": 1}`, `{"l": [1, "1"]}`, yes, doubt},
		{`{"/l/*": 1}`, `{"l": []}`, no, doubt},
		{`{"/l/*": 1}`, `{"l": [[1]]}`, doubt, doubt},
		{`{"/l/*": {"neq": 1}}`, `{"l": [1, 2]}`, yes, no},
		{`{"/l/*": {"each": "every", "neq": 1}}`, `{"l": [2, 3]}`, yes, yes},
		{`{"/l/*": {"each": "every", "neq": 1}}`, `{"l": []}`, doubt, doubt},
		{`{"/l/*": {"each": "some", "neq": 1}}`, `{"l": []}`, no, no},
		{`{"/l/*": {"each": "some", "neq": 1}}`, `{"l": [1, 2]}`, yes, yes},
		{`{"not": {"/l/*": 1}}`, `{"l": [1, 2]}`, yes, no},
		{`{"not": {"/l/*": 1}}`, `{"l": []}`, doubt, yes}, // allowed: none of them is 1
		{`{"not": {"not": {"/l/*": 1}}}`, `{"l": [1, 2]}`, yes, no},
		{`{"/l/*/p": {"lte": 5}}`, `{"l": [{"p": 1}, {}]}`, yes, doubt},
		{`{"/l/*/p": {"lte": 5}}`, `{"l": [{"p": 9}, {}]}`, doubt, no},
		{`{"/l/*/*": 1}`, `{"l": [[1], []]}`, yes, yes},
		{`{"/l/*/*": 1}`, `{"l": [[], []]}`, no, doubt},
		{`{"/l": {"count": 2}}`, `{"l": [1, 2]}`, yes, yes},
		{`{"/l/*": {"count": 2}}`, `{"l": [1, 2]}`, yes, yes},
		{`{"/l/*/p": {"count": 2}}`, `{"l": [{"p": 1}, {}]}`, doubt, doubt},
		{`{"/l": {"count": [1, 3]}}`, `{"l": [1, 2]}`, no, no},
		{`{"/l": {"count": {"gte": 1, "neq": 3}}}`, `{"l": [1, 2]}`, yes, yes},
		{`{"/l/*": {"count": {"lte": 3}, "lte": 1}}`, `{"l": [1, 2]}`, yes, no},
		{`{"/l": {"count": {"gte": 256}}}`, `{"l": [` + numbers(300) + `]}`, yes, yes},
		{`{"/l/*": 1}`, `{"l": [` + numbers(256) + `]}`, yes, yes},
		{`{"/l/*": 1}`, `{"l": [` + numbers(257) + `]}`, doubt, doubt},
		{`{"/l/*": 2}`, `{"l": [` + numbers(257) + `]}`, doubt, doubt},
		{`{"/l/*": {"count": {"lte": 10}}}`, `{"l": [` + numbers(257) + `]}`, doubt, doubt},
		{`{"/l/*/*": 2}`, `{"l": [[` + numbers(256) + `], [` + numbers(256) + `]]}`, no, no},
		{`{"/l/*/*": 1}`, `{"l": [[` + numbers(200) + `], [` + numbers(200) + `], [2]]}`, yes, doubt},
		{`{"/l": {"contains": 2}}`, `{"l": [` + numbers(257) + `]}`, doubt, doubt},
		{`{"/to/*": {"like": "*@example.com"}}`, `{"to": ["a@example.com, eve@evil.org"]}`, no, no},
	}, nil)
}

// element is one that is a text with other readings.
func element(text string, also ...string) condition.Element {
	return condition.Element{Value: document.StringValue(text), Also: texts(also...)}
}

func below(folder string) condition.Element {
	return condition.Element{Value: document.StringValue(folder), Below: true}
}

func unsure(e condition.Element) condition.Element {
	e.Unsure = true
	return e
}

// TestElements judges values of facets with their marks: other readings, folders, values that may not be there,
// and lists that are not complete (S21.3, S21.5).
func TestElements(t *testing.T) {
	t.Parallel()
	src, outside := element("src/a.go"), element("etc/x")
	link, folder := element("src/a.go", "etc/x"), below("src")
	const inSrc, only, counts = `{"files": ["src/**"]}`, `{"files": {"each": "every", "in": ["src/**"]}}`, `{"files": {"count": {"gte": 1}}}`
	const exists, none, one = `{"files": {"exists": true}}`, `{"files": {"not_exists": true}}`, `{"files": {"count": 1}}`
	const other = `{"files": {"neq": "src/a.go"}}`
	for _, row := range []struct {
		condition        string
		known            bool
		elements         []condition.Element
		restricts, allow condition.Truth
	}{
		{inSrc, true, nil, no, doubt},
		{inSrc, true, []condition.Element{src}, yes, yes},
		{inSrc, true, []condition.Element{outside}, no, no},
		{inSrc, true, []condition.Element{src, outside}, yes, no},
		{inSrc, true, []condition.Element{link}, yes, no},
		{inSrc, true, []condition.Element{element("etc/x", "src/a.go")}, yes, no},
		{inSrc, true, []condition.Element{element("src/a.go", "src/b.go")}, yes, yes},
		{inSrc, true, []condition.Element{folder}, yes, yes},
		{inSrc, true, []condition.Element{below("etc")}, no, no},
		{inSrc, true, []condition.Element{below(".")}, yes, no},
		{inSrc, true, []condition.Element{unsure(src)}, yes, doubt},
		{inSrc, true, []condition.Element{unsure(outside)}, no, doubt},
		{inSrc, true, []condition.Element{src, unsure(outside)}, yes, doubt},
		{inSrc, true, []condition.Element{src, unsure(src)}, yes, yes},
		{inSrc, true, []condition.Element{outside, unsure(src)}, yes, no},
		{inSrc, false, nil, doubt, doubt},
		{inSrc, false, []condition.Element{src}, yes, doubt},
		{inSrc, false, []condition.Element{outside}, doubt, no},
		{only, true, nil, doubt, doubt},
		{only, true, []condition.Element{src, outside}, no, no},
		{only, true, []condition.Element{src, unsure(outside)}, doubt, doubt},
		{only, false, []condition.Element{src}, doubt, doubt},
		{only, false, []condition.Element{outside}, no, no},
		{counts, true, nil, no, no},
		{counts, true, []condition.Element{src}, yes, yes},
		{counts, true, []condition.Element{unsure(src)}, doubt, doubt},
		{counts, false, nil, doubt, doubt},
		{counts, false, []condition.Element{src}, yes, yes},
		{counts, false, []condition.Element{unsure(src)}, doubt, doubt},
		{one, true, []condition.Element{src}, yes, yes},
		{one, true, []condition.Element{folder}, doubt, doubt},
		{one, true, []condition.Element{src, unsure(src)}, doubt, doubt},
		{one, true, []condition.Element{src, outside}, no, no},
		{one, false, []condition.Element{src}, doubt, doubt},
		{one, false, []condition.Element{src, outside}, no, no},
		{exists, true, nil, no, no},
		{exists, true, []condition.Element{src}, yes, yes},
		{exists, true, []condition.Element{unsure(src)}, doubt, doubt},
		{exists, false, nil, doubt, doubt},
		{exists, false, []condition.Element{src}, yes, yes},
		{none, true, nil, yes, yes},
		{none, true, []condition.Element{unsure(src)}, doubt, doubt},
		{none, false, nil, doubt, doubt},
		{none, false, []condition.Element{src}, no, no},
		{other, true, []condition.Element{src}, no, no},
		{other, true, []condition.Element{outside}, yes, yes},
		{other, true, []condition.Element{link}, yes, no},
		{inSrc, true, []condition.Element{{Value: document.NumberValue("1")}}, doubt, doubt},
		{inSrc, true, slicesOf(src, 257), doubt, doubt},
		{inSrc, true, slicesOf(src, 256), yes, yes},
	} {
		facets := map[condition.Facet]condition.Set{condition.Files: {Known: row.known, Values: row.elements}}
		judgeAll(t, []on{{row.condition, fmt.Sprintf(`{"known": %v, "values": %d}`, row.known, len(row.elements)), row.restricts, row.allow}}, facets)
	}
}

func slicesOf(e condition.Element, n int) []condition.Element {
	all := make([]condition.Element, n)
	for i := range all {
		all[i] = e
	}
	return all
}

// TestAmounts: money is in doubt below 0, and where doubles lose digits in an allowance.
func TestAmounts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		money            string
		restricts, allow condition.Truth
	}{
		{`0`, yes, yes},
		{`100`, yes, yes},
		{`100.00`, yes, yes},
		{`-0`, yes, yes},
		{`100.01`, no, no},
		{`-1`, doubt, doubt},
		{`-1e-300`, doubt, doubt},
		{`1e3`, no, no},
		{`99.999999999999999`, yes, doubt},
		{`9007199254740993`, no, doubt},
	} {
		facets := map[condition.Facet]condition.Set{condition.Money: {Known: true, Values: []condition.Element{{Value: document.NumberValue(row.money)}}}}
		judgeAll(t, []on{{`{"money": {"lte": 100}}`, `{"money": ` + row.money + `}`, row.restricts, row.allow}}, facets)
	}
	facets := map[condition.Facet]condition.Set{condition.Money: {Known: true, Values: []condition.Element{{Value: document.StringValue("5")}}}}
	judgeAll(t, []on{{`{"money": {"lte": 100}}`, `{}`, doubt, doubt}, {`{"money": 5}`, `{}`, doubt, doubt}}, facets)
}
