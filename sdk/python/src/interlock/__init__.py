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
from ._target import DEFAULT_SERVER, TLS
from .errors import (
    UNDECIDED,
    AwaitingApproval,
    Denied,
    Fault,
    InterlockError,
    NotPermitted,
    Rejected,
    ReportError,
    Unavailable,
    Violation,
    reason,
)
from .types import (
    Approval,
    Branch,
    Change,
    Decision,
    Evidence,
    GuardResult,
    LegalEvent,
    Result,
    Run,
    Session,
    State,
    Stopped,
)

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_SERVER", "TLS", "UNDECIDED", "Approval", "AwaitingApproval", "Branch", "Change", "Decision", "Denied",
    "Evidence", "Fault", "GuardResult", "Interlock", "InterlockError", "LegalEvent", "NotPermitted", "Rejected",
    "ReportError", "Result", "Run",
    "Session", "State", "Stopped", "Unavailable", "Violation", "patch", "reason",
]  # fmt: skip
