package rest

import (
	"net/http"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// StateWriters is who wrote each value of a document last.
type StateWriters struct {
	Version int64             `json:"version" doc:"The version of the document."`
	Writers []jsonview.Writer `json:"writers" doc:"One for each value that holds no others, in the order of the document."`
	Partial bool              `json:"partial" doc:"True when some are missing: of the 10,001st value on, and of writes before the history begins, or more than 4,096 versions ago."`
}

func (h *states) writerRoutes(add func(route)) {
	add(route{
		method: http.MethodGet, path: "/v1/states/{state_id}/writers", id: "getStateWriters", summary: "The last writer of each value",
		about: "The last writer of each value, also of empty lists and objects. Values that moved, by an operation or because their index in " +
			"a list has changed, keep their writer.",
		params: []param{
			inPath("state_id", "Id of the state."), sessionParam,
			{name: "pointer", in: "query", about: "Only values at or below this JSON Pointer (RFC 6901); may be repeated.", repeated: true},
			intQuery("version", "The version of the document; the newest when absent."),
		},
		answers: answers[StateWriters](http.StatusOK), serve: h.writers,
	})
}

func (h *states) writers(c *call) (*answer, error) {
	version, err := c.version("version", c.query.Get("version"))
	if err != nil {
		return nil, err
	}
	resp, err := h.states.GetStateWriters(c.ctx, &statev1.GetStateWritersRequest{
		StateId: c.path("state_id"), Session: c.header(headerSession), Version: version, Pointers: c.query["pointer"],
	})
	return shown(resp, err, func(r *statev1.GetStateWritersResponse) StateWriters {
		return StateWriters{Version: r.GetVersion(), Writers: jsonview.Each(r.GetWriters(), jsonview.WriterOf), Partial: r.GetPartial()}
	})
}
