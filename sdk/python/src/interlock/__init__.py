"""Gates the tool calls of agents by Interlock.

```python
client = interlock.Interlock.from_env()
result = await client.guard("Edit", args, lambda: edit(**args))
```

The second line runs `edit` when the call is allowed, raises `Denied` or `AwaitingApproval` when it is not, and reports the
outcome. `interlock.sync.Interlock` is the same without `await`. Adapters of frameworks are modules of this package: see
docs/adapters.md.
"""

import importlib
from typing import Any

from . import patch
from ._async.client import Interlock
from ._async.stream import Stream
from ._glass import BreakGlass
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
    ApprovalStatement,
    ApprovalStats,
    ApprovalStatus,
    Attachment,
    AttachmentKind,
    Branch,
    BranchStatus,
    Caller,
    Change,
    Command,
    Component,
    Cost,
    Decision,
    DecisionCode,
    DecisionRecord,
    DecisionValue,
    Definition,
    DefinitionKind,
    DefinitionSet,
    Due,
    DueKind,
    Evidence,
    ExceptionScope,
    Execution,
    Freeze,
    GuardResult,
    Halt,
    HaltKind,
    HaltScope,
    HistoryEntry,
    Hold,
    HoldCause,
    Human,
    Identity,
    Interrupted,
    Jail,
    Lease,
    LegalEvent,
    MissedTimes,
    OpenCall,
    Ping,
    PolicyException,
    Problem,
    QuestionCount,
    Refusal,
    Report,
    Result,
    Run,
    RunFreeze,
    RunHalt,
    RunStatus,
    Schedule,
    ScheduleCounts,
    ScheduleOutcome,
    ScheduleOverlap,
    ScheduleResult,
    ScheduleSpec,
    ScheduleStatus,
    Session,
    SessionStatus,
    SessionToken,
    SetChange,
    SetObject,
    SetShadow,
    Settlement,
    ShadowedObject,
    SigningKey,
    State,
    StateUpdate,
    StopCause,
    Stopped,
    Triggered,
    Turn,
    Usage,
    Vote,
)

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_SERVER", "TLS", "UNDECIDED", "Agent", "Approval", "ApprovalKind", "ApprovalStatement", "ApprovalStats",
    "ApprovalStatus", "Attachment", "AttachmentKind", "AwaitingApproval", "Branch", "BranchStatus", "BreakGlass",
    "Caller", "Change", "Command", "Component", "ConfigurationError", "Cost", "Decision", "DecisionCode",
    "DecisionRecord", "DecisionValue", "Definition", "DefinitionKind", "DefinitionSet", "Denied", "Due", "DueKind",
    "Evidence", "ExceptionScope", "Execution", "Fault", "Freeze", "GuardResult", "Halt", "HaltKind", "HaltScope",
    "HistoryEntry", "Hold", "HoldCause", "Human", "Identity", "Interlock", "InterlockError", "Interrupted", "Jail",
    "Lease", "LegalEvent", "MissedTimes", "OpenCall", "Ping", "PolicyException", "Problem", "QuestionCount", "Refusal",
    "Rejected", "Report", "ReportError", "Result", "Run", "RunFreeze", "RunHalt", "RunStatus", "Schedule",
    "ScheduleCounts", "ScheduleOutcome", "ScheduleOverlap", "ScheduleResult", "ScheduleSpec", "ScheduleStatus",
    "Session", "SessionStatus", "SessionToken", "SetChange", "SetObject", "SetShadow", "Settlement", "ShadowedObject",
    "SigningKey", "State", "StateUpdate", "StopCause", "Stopped", "Stream", "Triggered", "Turn", "Unavailable",
    "Usage", "Violation", "Vote", "patch", "reason",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Imports `interlock.sync` at its first use, so that `import interlock` is enough."""
    if name == "sync":
        return importlib.import_module(".sync", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
