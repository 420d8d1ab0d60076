package protomap

import (
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// codes are the codes of decisions in the contract.
var codes = Enums[toolcall.Code, policyv1.DecisionCode](policyv1.DecisionCode_value, "DECISION_CODE_")

// verdicts are the judgements on parts of a line.
var verdicts = map[toolcall.Said]policyv1.PartVerdict{
	toolcall.Fine:    policyv1.PartVerdict_PART_VERDICT_OK,
	toolcall.Refused: policyv1.PartVerdict_PART_VERDICT_REFUSED,
	toolcall.Unknown: policyv1.PartVerdict_PART_VERDICT_UNKNOWN,
}

// CommandLine returns a command line in the contract; nil for none.
func CommandLine(l *toolcall.Line) *policyv1.CommandLine {
	if l == nil {
		return nil
	}
	out := &policyv1.CommandLine{Line: l.Text}
	for i := range l.Parts {
		p := &l.Parts[i]
		out.Parts = append(out.Parts, &policyv1.CommandPart{
			Start: int64(p.Start), End: int64(p.End), Text: l.Text[p.Start:p.End], Words: p.Words, Verdict: verdicts[p.Said],
			Code: codes[p.Code], Message: p.Message, Writes: p.Writes, ReadsEnv: p.Reads, Matched: p.Matched,
		})
	}
	return out
}
