package reply_test

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
)

// A guard of evidence compares no field: the agent reads what is missing, and reads it once.
func TestRejectionByEvidence(t *testing.T) {
	t.Parallel()
	const missing = "either needs a successful `go test ./...` after any edit; or needs a successful `npm test` after any edit"
	guards := []*enginev1.GuardResult{{Name: "tested", Code: "EVIDENCE_MISSING", Message: missing}}
	for message, lines := range map[string]int{
		`event "SHIP" refused: guard "tested" ` + missing + ".": 1,
		`event "SHIP" refused.`:                                 2,
	} {
		result := reply.Rejection(&enginev1.Rejection{Message: message, Guards: guards}, nil).Result()
		text := result.Content[0].(*sdk.TextContent).Text
		if got := strings.Split(text, "\n"); len(got) != lines || strings.Count(text, missing) != 1 {
			t.Errorf("%q is answered with\n%s", message, text)
		}
	}
}
