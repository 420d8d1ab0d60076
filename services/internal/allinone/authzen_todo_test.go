package allinone

import (
	"fmt"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/gateway"
)

// TestAuthZENTodo plays the 40 decisions of AuthZEN's Todo scenario: eight of each of its five users. Editors
// change the todos that they own, by a condition on the properties of the resource (S21.1, S21.10).
func TestAuthZENTodo(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Authz: gateway.AuthzFlags{AuthZENResource: "resource"}})
	const (
		viewer = `"mcp__todo__can_read_user", "mcp__todo__can_read_todos"`
		editor = viewer + `, "mcp__todo__can_create_todo", "mcp__todo__can_update_todo", "mcp__todo__can_delete_todo"`
	)
	own := func(email string, tools ...string) (calls string) {
		for i, tool := range tools {
			if i > 0 {
				calls += ", "
			}
			calls += fmt.Sprintf(`{"tool": "mcp__todo__%s", "only": {"/resource/ownerID": %q}}`, tool, email)
		}
		return calls
	}
	for user, rights := range map[string][2]string{
		"rick":   {editor, ""}, // an admin and evil genius: may change every todo
		"morty":  {editor, own("morty@the-citadel.com", "can_update_todo", "can_delete_todo")},
		"summer": {editor, own("summer@the-smiths.com", "can_update_todo", "can_delete_todo")},
		"beth":   {viewer, ""},
		"jerry":  {viewer, ""},
	} {
		call(t, c, "POST", "/v1/workflows", fmt.Sprintf(
			`{"id":"of-%s","initial":"open","states":{"open":{"allowed_tools":[%s],"calls":[%s],"on":{"CLOSE":"closed"}},"closed":{"type":"final"}}}`,
			user, rights[0], rights[1]))
		call(t, c, "POST", "/v1/runs", fmt.Sprintf(`{"workflow":"of-%s","session_id":"user:%[1]s"}`, user))
	}
	emails := map[string]string{
		"rick": "rick@the-citadel.com", "morty": "morty@the-citadel.com", "summer": "summer@the-smiths.com", "beth": "beth@the-smiths.com", "jerry": "jerry@the-smiths.com",
	}
	all := []string{"rick", "morty", "summer", "beth", "jerry"}
	decisions := 0
	for _, user := range all {
		own := emails[user]
		if user == "rick" {
			own = emails["morty"] // the scenario asks for another's in its place
		}
		edits := user == "morty" || user == "summer" || user == "rick"
		for _, row := range []struct {
			action, owner string
			may           bool
		}{
			{"can_read_user", "", true},
			{"can_read_user", "", true}, // of another user, and of the same
			{"can_read_todos", "", true},
			{"can_create_todo", "", edits},
			{"can_update_todo", emails["rick"], user == "rick"},
			{"can_update_todo", own, edits},
			{"can_delete_todo", emails["rick"], user == "rick"},
			{"can_delete_todo", own, edits},
		} {
			properties := ""
			if row.owner != "" {
				properties = fmt.Sprintf(`, "properties": {"ownerID": %q}`, row.owner)
			}
			if got := todo(t, c, user, row.action, properties, "{}"); !has(got.json(t), map[string]any{"decision": row.may}) {
				t.Errorf("%s %s of %q: %s", user, row.action, row.owner, got.text)
			}
			decisions++
		}
	}
	if decisions != 40 {
		t.Errorf("%d decisions", decisions)
	}
	// No input and no odd property takes the place of the owner.
	for properties, context := range map[string]string{
		``:                     `{}`,
		`, "properties": {}`:   `{"ownerID": "morty@the-citadel.com"}`,
		`, "properties": null`: `{}`,
		`, "properties": {"ownerID": "rick@the-citadel.com"}`:                                            `{"Resource": {"ownerID": "morty@the-citadel.com"}}`,
		`, "properties": {"ownerID": ["morty@the-citadel.com"]}`:                                         `{}`,
		`, "properties": {"ownerID": "morty@the-citadel.com ", "x": "morty@the-citadel.com"}`:            `{}`,
		`, "properties": {"ownerID": "morty@the-citadel.com", "ownerid": "rick@the-citadel.com"}`:        `{}`,
		`, "properties": {"owner": {"ownerID": "morty@the-citadel.com"}}`:                                `{}`,
		`, "properties": {"ownerID": "morty@the-citadel.com", "ownerID\u200b": "summer@the-smiths.com"}`: `{}`,
	} {
		if got := todo(t, c, "morty", "can_delete_todo", properties, context); !has(got.json(t), map[string]any{"decision": false}) {
			t.Errorf("%s %s: %s", properties, context, got.text)
		}
	}
	if got := todo(t, c, "morty", "can_delete_todo", `, "properties": {}`, `{"resource": {"ownerID": "morty@the-citadel.com"}}`); got.status != 400 {
		t.Errorf("an input with the member of the resource: %d %s", got.status, got.text)
	}
}

func todo(t *testing.T, c *Server, user, action, properties, context string) reply {
	t.Helper()
	return post(t, c.Endpoints.HTTP+"/access/v1/evaluation", fmt.Sprintf(
		`{"subject": {"type": "user", "id": %q}, "action": {"name": %q}, "resource": {"type": "server", "id": "todo"%s}, "context": %s}`,
		user, action, properties, context),
		map[string]string{"Authorization": "Bearer " + tokenOf(t, c, auth.Agent), "Content-Type": "application/json"})
}
