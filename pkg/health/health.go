// Package health judges whether a process can do its work, by its dependencies. It must
// never show a cause to a prober: causes name addresses.
package health

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// timeout of one probe.
const timeout = 2 * time.Second

// Check is one dependency.
type Check struct {
	Name string
	// Optional is for a dependency that the process can do without, degraded.
	Optional bool
	// Probe returns nil while the dependency works.
	Probe func(context.Context) error
}

// Checks are all dependencies of a process.
type Checks []Check

// Result is the outcome of one check.
type Result struct {
	Name     string `json:"name"`
	Status   string `json:"status" enum:"ok,down"`
	Required bool   `json:"required"`
	// Why says why it is down where only an operator can mend that.
	Why string `json:"why,omitempty"`
	// Err is for logs.
	Err error `json:"-"`
}

// Report is the outcome of all checks.
type Report []Result

// Run probes everything at once.
func (c Checks) Run(ctx context.Context) Report {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	report := make(Report, len(c))
	var wg sync.WaitGroup
	for i, check := range c {
		wg.Go(func() {
			report[i] = Result{Name: check.Name, Status: "ok", Required: !check.Optional, Err: check.run(ctx)}
			if report[i].Err != nil {
				report[i].Status, report[i].Why = "down", why(report[i].Err)
			}
		})
	}
	wg.Wait()
	return report
}

// run turns a panic into an error: a bug in one probe must not end the process.
func (c Check) run(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the probe panicked: %v", p)
		}
	}()
	return c.Probe(ctx)
}

// Ready returns whether the process should get work: everything that it requires works,
// and not everything is down. A process that is cut off is better passed over; one whose
// optional dependency is down is not, for its replicas have the same.
func (r Report) Ready() bool {
	down := 0
	for _, result := range r {
		if result.Err != nil {
			down++
			if result.Required {
				return false
			}
		}
	}
	return down == 0 || down < len(r)
}

// Alive returns false when only a restart helps.
func (r Report) Alive() bool { return !errors.Is(r.Cause(), store.ErrBroken) }

// Cause returns why checks failed, for logs; nil when none did.
func (r Report) Cause() error {
	errs := make([]error, len(r))
	for i, result := range r {
		errs[i] = result.Err
	}
	return errors.Join(errs...)
}

// Down names the failing dependencies, and says why where only an operator can mend it.
func (r Report) Down() string {
	var names []string
	for _, result := range r {
		if result.Err != nil {
			names = append(names, result.Name+inBrackets(result.Why))
		}
	}
	return strings.Join(names, ", ")
}

// why describes why a check has failed where only an operator can mend that, or returns
// "".
func why(err error) string {
	var gone *store.RolledBackError
	switch {
	case errors.As(err, &gone):
		return fmt.Sprintf("STORE_ROLLED_BACK: it has gone back in time, %s", gone.Lost)
	case fault.ReasonOf(err) == fault.StoreFull:
		return "STORE_FULL: there is little room, and only changes that stop agents or remove data are taken"
	default:
		return ""
	}
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// String has one line per check.
func (r Report) String() string {
	var b strings.Builder
	for _, result := range r {
		b.WriteString(result.Status + " " + result.Name)
		if !result.Required {
			b.WriteString(" (optional)")
		}
		b.WriteString(inBrackets(result.Why))
		b.WriteByte('\n')
	}
	return b.String()
}
