package ledger

import (
	"time"

	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/rules"
)

// Spend has the units that an allowed call has taken of an account of a policy (S7.3),
// kept with the call for its report.
type Spend struct {
	Measure       string    `json:"measure"`
	Policy        string    `json:"policy,omitempty"`
	Scope         string    `json:"scope,omitempty"`
	Subject       string    `json:"subject,omitempty"`
	Pattern       string    `json:"pattern,omitempty"`
	WindowSeconds int64     `json:"window_seconds,omitempty"`
	Period        string    `json:"period,omitempty"`
	Start         time.Time `json:"start,omitzero"`
	Need          int64     `json:"need"`
	Max           int64     `json:"max"`
}

// SpendsOf returns the stored form of the spends of an allowed call.
func SpendsOf(spends []rules.Spend) []Spend {
	if len(spends) == 0 {
		return nil
	}
	kept := make([]Spend, len(spends))
	for i := range spends {
		s := &spends[i]
		kept[i] = Spend{
			Measure: string(s.Measure), Policy: s.Policy, Scope: string(s.Scope), Subject: s.Subject, Pattern: s.Pattern,
			WindowSeconds: int64(s.Window / time.Second), Period: string(s.Period), Start: s.Start, Need: s.Delta(), Max: s.Max,
		}
	}
	return kept
}

// Spent returns the spends of the call again; who has set their limits is not kept.
func (c *DecidedCall) Spent() []rules.Spend {
	spends := make([]rules.Spend, len(c.Spends))
	for i, s := range c.Spends {
		spends[i] = rules.Spend{
			Account: rules.Account{
				Measure: rules.Measure(s.Measure), Policy: s.Policy, Scope: rules.Scope(s.Scope), Subject: s.Subject, Pattern: s.Pattern,
				Window: time.Duration(s.WindowSeconds) * time.Second, Period: rules.Period(s.Period), Start: s.Start,
			},
			Need: s.Need, Max: s.Max,
		}
	}
	return spends
}

func encodeSpends(w *jsonobject.Writer, spends []Spend) {
	if len(spends) == 0 {
		return
	}
	w.Name("spends")
	w.OpenList()
	for i := range spends {
		s := &spends[i]
		w.Open()
		w.Text("measure", s.Measure)
		w.OptionalText("policy", s.Policy)
		w.OptionalText("scope", s.Scope)
		w.OptionalText("subject", s.Subject)
		w.OptionalText("pattern", s.Pattern)
		w.OptionalInteger("window_seconds", s.WindowSeconds)
		w.OptionalText("period", s.Period)
		if !s.Start.IsZero() {
			w.Time("start", s.Start)
		}
		w.Integer("need", s.Need)
		w.Integer("max", s.Max)
		w.Close()
	}
	w.CloseList()
}
