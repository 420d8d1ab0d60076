package e2e

import (
	"strings"
	"testing"
)

// scenarios are walked on every shape. Each has a namespace of its own, so they
// share one running Interlock and do not see each other.
var scenarios = []struct {
	name string
	walk func(*testing.T, *world)
}{
	{"a gated workflow from start to end", walkWorkflow},
	{"the iteration limit holds for concurrent calls", limitExactly},
	{"checks in a stream and in batches", streamOfChecks},
	{"reports are accounted once", reports},
	{"no decision on an old state", neverStale},
	{"no decision on an old state in a race", neverStaleInRaces},
	{"halted work does not go on", haltsHold},
	{"frozen transitions are not taken", freezesHold},
	{"ended sessions begin nothing in a race", endsHold},
	{"repeats get the first answer", repeats},
	{"concurrent repeats happen once", concurrentRepeats},
	{"an expected version that is not there", expectedVersion},
	{"concurrent writers lose nothing", concurrentWriters},
	{"history and events are the same", historyIsAnnounced},
	{"decisions are announced", decisionsAreAnnounced},
	{"watching a run", watchRun},
	{"pause and resume", pauseAndResume},
	{"cancel", cancelRun},
	{"one session drives one run", oneSessionOneRun},
	{"concurrent starts in one session", concurrentStarts},
	{"runs are pinned to their version", pinnedVersions},
	{"agents do not replace operators' workflows", noReplacement},
	{"roles", roles},
	{"credentials", credentials},
	{"namespaces", namespaces},
	{"limits on inputs", limitsOnInputs},
	{"interrupts", interrupts},
	{"forks", forks},
	{"one join", oneJoin},
	{"invokes", invokes},
	{"force state", forceState},
	{"the walk over REST", restWalk},
	{"live events over REST", restEvents},
	{"the stats over REST", restStats},
	{"effects that nobody has reported", unknownEffects},
	{"a run that moves to another version", migrates},
	{"definitions as code", applies},
	{"recorded runs and a candidate", replays},
	{"large states and deleted sessions", largeStatesAndDeletedSessions},
	{"who may write", whoMayWrite},
	{"approvals that see what moved in a storm", movedInAStorm},
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	onEveryShape(t, func(t *testing.T, s *shape) {
		for _, scenario := range scenarios {
			t.Run(scenario.name, func(t *testing.T) {
				t.Parallel()
				namespace := strings.ReplaceAll(strings.ToLower(scenario.name), " ", "-")
				scenario.walk(t, &world{shape: s, namespace: strings.ReplaceAll(namespace, "'", "")})
			})
		}
	})
}
