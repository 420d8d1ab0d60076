"""Gates the tool calls of agents by Interlock.

```python
client = interlock.Interlock.from_env()
result = await client.guard("Edit", args, lambda: edit(**args))
```

The second line runs `edit` when the call is allowed, raises `Denied` or `AwaitingApproval` when it is not, and reports the
outcome. `interlock.sync.Interlock` is the same without `await`. Adapters of frameworks are modules of this package: see
docs/adapters.md.
"""

from . import patch
from ._async.client import Interlock
from ._async.stream import Stream
from ._target import DEFAULT_SERVER, TLS
from .errors import (
    UNDECIDED,
    AwaitingApproval,
    ConfigurationError,
    Denied,
    Fault,
    InterlockError,
    Rejected,
    ReportError,
    Unavailable,
    Violation,
    reason,
)
from .types import (
    Agent,
    Approval,
    ApprovalKind,
    ApprovalStatus,
    Branch,
    BranchStatus,
    Change,
    Command,
    Component,
    Cost,
    Decision,
    DecisionCode,
    DecisionRecord,
    DecisionValue,
    Definition,
    Evidence,
    Execution,
    GuardResult,
    HistoryEntry,
    Interrupted,
    Jail,
    Lease,
    LegalEvent,
    OpenCall,
    Ping,
    Problem,
    Report,
    Result,
    Run,
    RunStatus,
    Session,
    SessionStatus,
    Settlement,
    State,
    StateUpdate,
    Stopped,
    Turn,
    Usage,
    Vote,
)

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_SERVER", "TLS", "UNDECIDED", "Agent", "Approval", "ApprovalKind", "ApprovalStatus", "AwaitingApproval", "Branch",
    "BranchStatus", "Change", "Command", "Component", "ConfigurationError", "Cost", "Decision", "DecisionCode", "DecisionRecord",
    "DecisionValue", "Definition", "Denied", "Evidence", "Execution", "Fault", "GuardResult", "HistoryEntry", "Interlock",
    "InterlockError", "Interrupted", "Jail", "Lease", "LegalEvent", "OpenCall", "Ping", "Problem", "Rejected",
    "Report", "ReportError", "Result", "Run", "RunStatus", "Session", "SessionStatus", "Settlement", "State", "StateUpdate",
    "Stopped", "Stream", "Turn", "Unavailable", "Usage", "Violation", "Vote", "patch", "reason",
]  # fmt: skip
