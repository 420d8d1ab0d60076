package rest

import (
	"net/http"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// TaskList is one page of tasks, oldest first.
type TaskList struct {
	Tasks         []Task `json:"tasks"`
	NextPageToken string `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// taskRoutes are for people: runners take tasks over gRPC.
func (e *edge) taskRoutes() {
	e.add(route{
		method: http.MethodGet, path: "/v1/tasks", id: "listTasks", summary: "List tasks of runners",
		params: []param{
			inQuery("session", "Only tasks of this session, by id or name."),
			{name: "status", in: "query", about: "Only tasks in this status.", values: jsonview.TaskStatuses()},
			pageSizeParam, pageTokenParam,
		},
		fields:  map[string]string{"session": "session"},
		answers: answers[TaskList](http.StatusOK), serve: e.listTasks,
	})
}

func (e *edge) listTasks(c *call) (*answer, error) {
	status, err := c.choice("status", statev1.TaskStatus_value, "TASK_STATUS_", jsonview.TaskStatuses())
	if err != nil {
		return nil, err
	}
	size, token, err := c.page()
	if err != nil {
		return nil, err
	}
	resp, err := e.Tasks.ListTasks(c.ctx, &statev1.ListTasksRequest{
		Session: c.query.Get("session"), Status: statev1.TaskStatus(status), PageSize: size, PageToken: token,
	})
	if err != nil {
		return nil, err
	}
	return ok(TaskList{Tasks: each(resp.GetTasks(), jsonview.TaskOf), NextPageToken: resp.GetNextPageToken()}), nil
}
