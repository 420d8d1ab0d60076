package rest

import (
	"math"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// History is one page of what happened to a run, oldest first.
type History struct {
	Entries          []HistoryEntry `json:"entries"`
	NextAfterVersion int64          `json:"next_after_version" doc:"after of the next page; 0 with next_after_result at the end."`
	NextAfterResult  int64          `json:"next_after_result" doc:"after_result of the next page; 0 with next_after_version at the end."`
}

func (e *edge) history(c *call) (*answer, error) {
	if c.query.Has("after") && c.query.Has("after_version") {
		return nil, badParameter("after_version", "CONFLICT", "says the same as after; give one of them")
	}
	name := "after"
	if c.query.Has("after_version") {
		name = "after_version"
	}
	version, err := c.number(name, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	result, err := c.number("after_result", math.MaxInt64)
	if err != nil {
		return nil, err
	}
	size, err := c.number("page_size", 1000)
	if err != nil {
		return nil, err
	}
	resp, err := e.Runs.GetRunHistory(c.ctx, &enginev1.GetRunHistoryRequest{
		RunId: c.path("id"), AfterVersion: version, AfterResult: result, PageSize: int32(size), // at most 1000
	})
	if err != nil {
		return nil, err
	}
	return ok(History{
		Entries:          jsonview.HistoryOf(resp.GetEntries()),
		NextAfterVersion: resp.GetNextAfterVersion(), NextAfterResult: resp.GetNextAfterResult(),
	}), nil
}
