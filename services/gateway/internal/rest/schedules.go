package rest

import (
	"cmp"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// CreateScheduleRequest is a schedule to store.
type CreateScheduleRequest struct {
	jsonview.ScheduleSpec
	Paused bool `json:"paused,omitzero" doc:"True to store it paused."`
}

// ScheduleList is one page of schedules, by name.
type ScheduleList struct {
	Schedules     []jsonview.Schedule `json:"schedules"`
	NextPageToken string              `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// ScheduleTimes are the next times of a schedule.
type ScheduleTimes struct {
	Times []time.Time `json:"times"`
	Zone  string      `json:"zone"`
}

// TriggeredSchedule is a schedule, and the run that was started by it.
type TriggeredSchedule struct {
	Schedule  jsonview.Schedule `json:"schedule"`
	RunID     string            `json:"run_id"`
	SessionID string            `json:"session_id"`
}

// schedules serves the routes of schedules.
type schedules struct {
	schedules enginev1.ScheduleServiceClient
}

func (h *schedules) routes(add func(route)) {
	const path = "/v1/schedules/{name}"
	name := inPath("name", "Name of the schedule.")
	one := answers[jsonview.Schedule](http.StatusOK)
	ifMatch := param{name: headerIfMatch, in: "header", about: "ETag of the schedule: 412 unless it is at this version."}
	count := param{name: "count", in: "query", about: "How many times to return; 5 by default, at most 100.", integer: true}
	add(route{
		method: http.MethodPost, path: "/v1/schedules", id: "createSchedule", summary: "Start runs at times",
		about:  "For operators. The runs are started as the caller. 409 when there is another schedule of that name.",
		fields: map[string]string{"spec": ""}, body: jsonBody, request: reflect.TypeFor[CreateScheduleRequest](),
		answers: answers[jsonview.Schedule](http.StatusCreated), serve: taking(h.create),
	})
	add(route{
		method: http.MethodGet, path: "/v1/schedules", id: "listSchedules", summary: "List schedules",
		params: []param{pageSizeParam, pageTokenParam}, answers: answers[ScheduleList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodGet, path: path, id: "getSchedule", summary: "Get a schedule",
		params: []param{
			name, {name: "version", in: "query", about: "The version to see, as it was when it was put.", integer: true}, ifNoneMatchParam,
		}, answers: one, serve: h.get,
	})
	add(route{
		method: http.MethodPut, path: path, id: "updateSchedule", summary: "Replace the definition of a schedule",
		about:  "From now on, and as the caller.",
		params: []param{name, ifMatch}, fields: map[string]string{"spec": ""}, body: jsonBody, request: reflect.TypeFor[jsonview.ScheduleSpec](), answers: one, serve: taking(h.update),
	})
	add(route{
		method: http.MethodDelete, path: path, id: "deleteSchedule", summary: "Delete a schedule",
		about: "The runs that it has started go on.", params: []param{name, ifMatch}, answers: noContent(), serve: h.delete,
	})
	add(route{
		method: http.MethodPost, path: path + "/pause", id: "pauseSchedule", summary: "Keep a schedule from starting runs",
		params: []param{name}, body: optionalJSON, request: reflect.TypeFor[EmptyRequest](), answers: one, serve: taking(h.pause),
	})
	add(route{
		method: http.MethodPost, path: path + "/resume", id: "resumeSchedule", summary: "Let a paused schedule go on",
		about:  "Times that have passed were missed.",
		params: []param{name}, body: optionalJSON, request: reflect.TypeFor[EmptyRequest](), answers: one, serve: taking(h.resume),
	})
	add(route{
		method: http.MethodPost, path: path + "/trigger", id: "triggerSchedule", summary: "Start a run of a schedule now",
		about:  "Also of a paused one. 409 while the last run has not ended, unless runs may overlap.",
		params: []param{name, idempotencyParam}, body: optionalJSON, request: reflect.TypeFor[EmptyRequest](),
		answers: answers[TriggeredSchedule](http.StatusCreated), serve: taking(h.trigger),
	})
	add(route{
		method: http.MethodGet, path: path + "/next", id: "listScheduleTimes", summary: "Next times of a schedule",
		params: []param{name, count}, answers: answers[ScheduleTimes](http.StatusOK), serve: h.times,
	})
}

func answerSchedule[R interface{ GetSchedule() *enginev1.Schedule }](resp R, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	return ok(jsonview.ScheduleOf(resp.GetSchedule())).tagged(etag(resp.GetSchedule().GetVersion())), nil
}

// checkRules refuses words that a schedule does not know.
func checkRules(in jsonview.ScheduleSpec) error {
	for _, word := range []struct {
		pointer, word string
		known         []string
	}{
		{"/missed", in.Missed, lowerNames(enginev1.MissedTimes_name, "MISSED_TIMES_")},
		{"/overlap", in.Overlap, lowerNames(enginev1.ScheduleOverlap_name, "SCHEDULE_OVERLAP_")},
	} {
		if word.word != "" && !slices.Contains(word.known, word.word) {
			return badBody(fault.InvalidRequest, inBody(word.pointer, "ENUM", "must be one of "+strings.Join(word.known, ", ")))
		}
	}
	return missing(requirement{"/workflow", in.Workflow != ""}, requirement{"/cron", in.Cron != ""})
}

func (h *schedules) create(c *call, in CreateScheduleRequest) (*answer, error) {
	if err := missing(requirement{"/name", in.Name != ""}); err != nil {
		return nil, err
	}
	if err := checkRules(in.ScheduleSpec); err != nil {
		return nil, err
	}
	resp, err := h.schedules.CreateSchedule(c.ctx, &enginev1.CreateScheduleRequest{Spec: in.Proto(), Paused: in.Paused})
	reply, err := answerSchedule(resp, err)
	if err != nil {
		return nil, err
	}
	return reply.at("/v1/schedules/"+url.PathEscape(in.Name), true), nil
}

func (h *schedules) list(c *call) (*answer, error) {
	resp, err := h.schedules.ListSchedules(c.ctx, &enginev1.ListSchedulesRequest{PageSize: c.size, PageToken: c.token})
	if err != nil {
		return nil, err
	}
	return ok(ScheduleList{Schedules: jsonview.Each(resp.GetSchedules(), jsonview.ScheduleOf), NextPageToken: resp.GetNextPageToken()}), nil
}

func (h *schedules) get(c *call) (*answer, error) {
	version, err := c.version("version", c.query.Get("version"))
	if err != nil {
		return nil, err
	}
	return answerSchedule(h.schedules.GetSchedule(c.ctx, &enginev1.GetScheduleRequest{Name: c.path("name"), Version: version}))
}

func (h *schedules) update(c *call, in jsonview.ScheduleSpec) (*answer, error) {
	if in.Name = cmp.Or(in.Name, c.path("name")); in.Name != c.path("name") {
		return nil, badBody(fault.InvalidRequest, inBody("/name", document.CodeConflict, "must be the name in the path, or absent"))
	}
	if err := checkRules(in); err != nil {
		return nil, err
	}
	return answerSchedule(h.schedules.UpdateSchedule(c.ctx, &enginev1.UpdateScheduleRequest{Spec: in.Proto(), ExpectedVersion: c.match}))
}

func (h *schedules) delete(c *call) (*answer, error) {
	return done(h.schedules.DeleteSchedule(c.ctx, &enginev1.DeleteScheduleRequest{Name: c.path("name"), ExpectedVersion: c.match}))
}

func (h *schedules) pause(c *call, _ EmptyRequest) (*answer, error) {
	return answerSchedule(h.schedules.PauseSchedule(c.ctx, &enginev1.PauseScheduleRequest{Name: c.path("name")}))
}

func (h *schedules) resume(c *call, _ EmptyRequest) (*answer, error) {
	return answerSchedule(h.schedules.ResumeSchedule(c.ctx, &enginev1.ResumeScheduleRequest{Name: c.path("name")}))
}

func (h *schedules) trigger(c *call, _ EmptyRequest) (*answer, error) {
	resp, err := h.schedules.TriggerSchedule(c.ctx, &enginev1.TriggerScheduleRequest{Name: c.path("name"), IdempotencyKey: c.header(headerIdempotency)})
	if err != nil {
		return nil, err
	}
	return ok(TriggeredSchedule{
		Schedule: jsonview.ScheduleOf(resp.GetSchedule()), RunID: resp.GetRunId(), SessionID: resp.GetSessionId(),
	}).at("/v1/runs/"+resp.GetRunId(), true), nil
}

func (h *schedules) times(c *call) (*answer, error) {
	count, err := c.number("count", 100)
	if err != nil {
		return nil, err
	}
	resp, err := h.schedules.ListScheduleTimes(c.ctx, &enginev1.ListScheduleTimesRequest{
		Name: c.path("name"), Count: int32(count), // at most 100
	})
	return shown(resp, err, func(r *enginev1.ListScheduleTimesResponse) ScheduleTimes {
		return ScheduleTimes{Times: jsonview.Each(r.GetTimes(), jsonview.Time), Zone: r.GetZone()}
	})
}
