// Package health judges whether a process can do its work, by what it depends on. It
// must never show a cause to a prober: causes name addresses.
package health

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// timeout of one probe.
const timeout = 2 * time.Second

// Check is one dependency.
type Check struct {
	Name string
	// Optional is for what the process can do without, degraded.
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
				report[i].Status = "down"
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

// Down names what does not work, and says why where only an operator can mend it.
func (r Report) Down() string {
	var names []string
	for _, result := range r {
		var gone *store.RolledBackError
		switch {
		case errors.As(result.Err, &gone):
			names = append(names, fmt.Sprintf("%s (STORE_ROLLED_BACK: it has gone back in time, %s)", result.Name, gone.Lost))
		case result.Err != nil:
			names = append(names, result.Name)
		}
	}
	return strings.Join(names, ", ")
}

// String has one line per check.
func (r Report) String() string {
	var b strings.Builder
	for _, result := range r {
		b.WriteString(result.Status + " " + result.Name)
		if !result.Required {
			b.WriteString(" (optional)")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
