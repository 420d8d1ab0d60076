# Made from _async/registry.py by tools/python/unasync. DO NOT EDIT.
"""Definitions that exist before agents work: workflows, policies, schemas, processes, components, agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from .. import _convert, _json, _who
from ..gen.engine.v1 import process_service_pb2, process_service_pb2_grpc, workflow_service_pb2, workflow_service_pb2_grpc
from ..gen.policy.v1 import exception_pb2, policy_pb2, policy_service_pb2, policy_service_pb2_grpc
from ..gen.state.v1 import (
    agent_pb2,
    agent_service_pb2,
    agent_service_pb2_grpc,
    component_service_pb2,
    component_service_pb2_grpc,
    schema_service_pb2,
    schema_service_pb2_grpc,
)
from ..types import Agent, Attachment, Component, Definition, Execution, PolicyException, Turn, Usage
from .base import Base, Service, body_of, key_of

WORKFLOW = Service("/interlock.engine.v1.WorkflowService/", workflow_service_pb2_grpc.WorkflowServiceStub)
_PROCESS = Service("/interlock.engine.v1.ProcessService/", process_service_pb2_grpc.ProcessServiceStub)
_POLICY = Service("/interlock.policy.v1.PolicyService/", policy_service_pb2_grpc.PolicyServiceStub)
_SCHEMA = Service("/interlock.state.v1.SchemaService/", schema_service_pb2_grpc.SchemaServiceStub)
_COMPONENT = Service("/interlock.state.v1.ComponentService/", component_service_pb2_grpc.ComponentServiceStub)
_AGENT = Service("/interlock.state.v1.AgentService/", agent_service_pb2_grpc.AgentServiceStub)

Document = Mapping[str, Any] | str | bytes
"""A definition: an object, or the JSON text of one."""


def _attached(to: Attachment) -> policy_pb2.Attachment:
    return policy_pb2.Attachment(kind=policy_pb2.AttachmentKind.Value("ATTACHMENT_KIND_" + to.kind.upper()), id=to.id)


class Registry(Base):
    """Definitions, and the objects that are made of them."""

    # Workflows

    def register_workflow(
        self, definition: Document, *, staged: bool = False, idempotency_key: str = "", timeout: float | None = None
    ) -> Definition:
        """Validates and stores a workflow. A definition with errors is an `INVALID_REQUEST` with its `violations`."""
        request = workflow_service_pb2.RegisterWorkflowRequest(
            definition=body_of("workflow", definition), staged=staged, idempotency_key=key_of(idempotency_key)
        )
        answer = self._call(WORKFLOW, "RegisterWorkflow", request, timeout)
        made = answer.workflow
        return _convert.definition(made, made.definition, created=answer.created, warnings=answer.warnings)

    def get_workflow(self, name: str, *, version: int = 0, timeout: float | None = None) -> Definition:
        """Returns a version of a workflow, by default the latest."""
        request = workflow_service_pb2.GetWorkflowRequest(name=name, version=version)
        found = (self._call(WORKFLOW, "GetWorkflow", request, timeout)).workflow
        return _convert.definition(found, found.definition)

    def list_workflows(self, *, timeout: float | None = None) -> Iterator[Definition]:
        """Yields the latest version of every workflow by name, without definitions."""
        request = workflow_service_pb2.ListWorkflowsRequest(page_size=1000)
        while True:
            page = self._call(WORKFLOW, "ListWorkflows", request, timeout)
            for found in page.workflows:
                yield _convert.definition(found, found.definition)
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    # Policies

    def register_policy(
        self,
        definition: Document,
        *,
        name: str = "",
        shadow: bool = False,
        staged: bool = False,
        idempotency_key: str = "",
        timeout: float | None = None,
    ) -> Definition:
        """Validates and stores a policy, for operators. A shadow makes no decisions: it is logged where it would have decided
        otherwise. A staged version is not live: `apply_set` makes it live. The name is by default that of the definition."""
        text = body_of("policy", definition)
        request = policy_service_pb2.RegisterPolicyRequest(
            name=name or _json.loads(text).get("name", ""),
            definition=text,
            shadow=shadow,
            staged=staged,
            idempotency_key=key_of(idempotency_key),
        )
        answer = self._call(_POLICY, "RegisterPolicy", request, timeout)
        made = answer.policy
        return _convert.definition(made, made.definition, created=answer.created, warnings=answer.warnings)

    def get_policy(self, name: str, *, version: int = 0, timeout: float | None = None) -> Definition:
        """Returns a version of a policy, by default the latest."""
        request = policy_service_pb2.GetPolicyRequest(name=name, version=version)
        found = (self._call(_POLICY, "GetPolicy", request, timeout)).policy
        return _convert.definition(found, found.definition)

    def list_policies(self, *, timeout: float | None = None) -> Iterator[Definition]:
        """Yields the latest version of every policy by name, without definitions."""
        request = policy_service_pb2.ListPoliciesRequest(page_size=1000)
        while True:
            page = self._call(_POLICY, "ListPolicies", request, timeout)
            for found in page.policies:
                yield _convert.definition(found, found.definition)
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    def attach_policy(self, name: str, *to: Attachment, timeout: float | None = None) -> Definition:
        """Lets a policy judge the calls of things, in one commit, for operators."""
        request = policy_service_pb2.AttachPolicyRequest(name=name, to=map(_attached, to))
        found = (self._call(_POLICY, "AttachPolicy", request, timeout)).policy
        return _convert.definition(found, found.definition)

    def detach_policy(self, name: str, *source: Attachment, timeout: float | None = None) -> Definition:
        """Takes attachments of `attach_policy` back, in one commit, for operators."""
        request = policy_service_pb2.DetachPolicyRequest(name=name)
        getattr(request, "from").extend(map(_attached, source))
        found = (self._call(_POLICY, "DetachPolicy", request, timeout)).policy
        return _convert.definition(found, found.definition)

    def policy_usage(
        self, name: str, *, principal: str = "", human: str = "", session: str = "", timeout: float | None = None
    ) -> Sequence[Usage]:
        """Returns how much of the limits of a policy is spent, by default of the client's session. Limits per principal and per human
        are only in it with these; a human is the name of a person, or the issuer, # and the name there."""
        request = policy_service_pb2.GetPolicyUsageRequest(
            name=name, principal=principal, human=human, session_id=session or self.session
        )
        return tuple(map(_convert.usage, (self._call(_POLICY, "GetPolicyUsage", request, timeout)).usages))

    def add_exception(
        self,
        policy: str,
        rule: str,
        *,
        until: datetime,
        reason: str,
        principal: str = "",
        human: str = "",
        group: str = "",
        session: str = "",
        when: Any = None,
        timeout: float | None = None,
    ) -> PolicyException:
        """Lets some calls pass a rule of a policy that has `"exceptable": true`, for operators. It waits for a second operator
        where the policy says so (S22.13).

        Args:
            policy: Name of the policy.
            rule: JSON Pointer of the rule in it, such as "/deny/0".
            until: Its end, at most 7 days from now: a time with a zone.
            reason: Why it is made.
            principal: The calls of one principal. All members that are set must fit.
            human: The calls on behalf of one human.
            group: The calls on behalf of the humans of a group.
            session: The calls of a session, with all below it.
            when: A condition on the call.
            timeout: Seconds that the call is tried for.
        """
        scope = exception_pb2.ExceptionScope(
            principal=principal, human=human, group=group, session_id=session, when=_json.encode("condition", when)
        )
        request = exception_pb2.AddExceptionRequest(policy=policy, rule=rule, scope=scope, reason=reason)
        request.until.FromDatetime(until)
        return _who.policy_exception((self._call(_POLICY, "AddException", request, timeout)).exception)

    def list_exceptions(self, policy: str = "", *, timeout: float | None = None) -> Sequence[PolicyException]:
        """Returns the exceptions of a policy that have not ended; of all policies without one."""
        request = exception_pb2.ListExceptionsRequest(policy=policy)
        return tuple(map(_who.policy_exception, (self._call(_POLICY, "ListExceptions", request, timeout)).exceptions))

    def confirm_exception(self, id: str, *, timeout: float | None = None) -> PolicyException:
        """Confirms an exception that another operator has made."""
        request = exception_pb2.ConfirmExceptionRequest(exception_id=id)
        return _who.policy_exception((self._call(_POLICY, "ConfirmException", request, timeout)).exception)

    def end_exception(self, id: str, *, timeout: float | None = None) -> None:
        """Ends an exception before its time, for operators."""
        self._call(_POLICY, "EndException", exception_pb2.EndExceptionRequest(exception_id=id), timeout)

    # Schemas

    def register_schema(
        self,
        name: str,
        schema: Document,
        *,
        description: str = "",
        idempotency_key: str = "",
        timeout: float | None = None,
    ) -> Definition:
        """Stores a JSON Schema of states, for operators."""
        request = schema_service_pb2.RegisterSchemaRequest(
            name=name, json_schema=body_of("schema", schema), description=description, idempotency_key=key_of(idempotency_key)
        )
        answer = self._call(_SCHEMA, "RegisterSchema", request, timeout)
        return _convert.definition(answer.schema, answer.schema.json_schema, created=answer.created)

    def get_schema(self, name: str, *, version: int = 0, timeout: float | None = None) -> Definition:
        """Returns a version of a schema, by default the latest."""
        request = schema_service_pb2.GetSchemaRequest(name=name, version=version)
        found = (self._call(_SCHEMA, "GetSchema", request, timeout)).schema
        return _convert.definition(found, found.json_schema)

    # Processes

    def register_process(
        self, definition: Document, *, staged: bool = False, idempotency_key: str = "", timeout: float | None = None
    ) -> Definition:
        """Validates and stores a process (S8)."""
        request = process_service_pb2.RegisterProcessRequest(
            definition=body_of("process", definition), staged=staged, idempotency_key=key_of(idempotency_key)
        )
        answer = self._call(_PROCESS, "RegisterProcess", request, timeout)
        made = answer.process
        return _convert.definition(made, made.definition, created=answer.created, warnings=answer.warnings)

    def get_process(self, name: str, *, version: int = 0, timeout: float | None = None) -> Definition:
        """Returns a version of a process, by default the latest."""
        request = process_service_pb2.GetProcessRequest(name=name, version=version)
        found = (self._call(_PROCESS, "GetProcess", request, timeout)).process
        return _convert.definition(found, found.definition)

    def start_process(
        self,
        process: str,
        *,
        version: int = 0,
        workspace: str = "",
        idempotency_key: str = "",
        timeout: float | None = None,
    ) -> Turn:
        """Starts a run of a process for the client's session, and returns its first question."""
        request = process_service_pb2.StartProcessRequest(
            process=process,
            version=version,
            session_id=self.session,
            workspace=workspace,
            idempotency_key=key_of(idempotency_key),
        )
        answer = self._call(_PROCESS, "StartProcess", request, timeout)
        return _convert.turn(answer.run, answer.turn)

    def get_question(self, *, timeout: float | None = None) -> Turn:
        """Returns the present question of the client's run."""
        return self.answer_question("", timeout=timeout)

    def answer_question(
        self, answer: str, *, note: str = "", idempotency_key: str = "", timeout: float | None = None
    ) -> Turn:
        """Answers the present question of the client's run, and returns the next one. A refused answer is a `Rejected` that says
        which are valid."""
        run, session = self._driven()
        request = process_service_pb2.AnswerQuestionRequest(
            run_id=run, session_id=session, answer=answer, note=note, idempotency_key=key_of(idempotency_key)
        )
        said = self._call(_PROCESS, "AnswerQuestion", request, timeout)
        _convert.answered(said)
        return _convert.turn(said.run, said.turn)

    # Components

    def create_component(
        self, definition: Document, *, idempotency_key: str = "", timeout: float | None = None
    ) -> Component:
        """Makes a component (S12), for operators."""
        request = component_service_pb2.CreateComponentRequest(
            definition=body_of("component", definition), idempotency_key=key_of(idempotency_key)
        )
        return _convert.component((self._call(_COMPONENT, "CreateComponent", request, timeout)).component)

    def get_component(self, slug: str, *, timeout: float | None = None) -> Component:
        """Returns a component."""
        request = component_service_pb2.GetComponentRequest(slug=slug)
        return _convert.component((self._call(_COMPONENT, "GetComponent", request, timeout)).component)

    def list_components(self, filter: str = "", *, timeout: float | None = None) -> Iterator[Component]:
        """Yields the components."""
        request = component_service_pb2.ListComponentsRequest(page_size=1000, filter=filter)
        while True:
            page = self._call(_COMPONENT, "ListComponents", request, timeout)
            for component in page.components:
                yield _convert.component(component)
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    def update_component(
        self, slug: str, definition: Document, *, expected_version: int = 0, timeout: float | None = None
    ) -> Component:
        """Replaces a component, for operators."""
        request = component_service_pb2.UpdateComponentRequest(
            slug=slug, definition=body_of("component", definition), expected_version=expected_version
        )
        return _convert.component((self._call(_COMPONENT, "UpdateComponent", request, timeout)).component)

    def delete_component(self, slug: str, *, expected_version: int = 0, timeout: float | None = None) -> None:
        """Removes a component, for operators."""
        request = component_service_pb2.DeleteComponentRequest(slug=slug, expected_version=expected_version)
        self._call(_COMPONENT, "DeleteComponent", request, timeout)

    def begin_execution(self, slug: str, *, subject: str = "", timeout: float | None = None) -> Execution:
        """Begins an execution of the client's session with the values of a component."""
        request = component_service_pb2.BeginExecutionRequest(slug=slug, session=self.session, subject=subject)
        return _convert.execution((self._call(_COMPONENT, "BeginExecution", request, timeout)).execution)

    def commit_execution(
        self,
        execution_id: str,
        values: Mapping[str, Any] | bytes | None = None,
        *,
        patch: Sequence[dict[str, Any]] | None = None,
        merge_patch: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Execution:
        """Ends an execution with new values, or with a JSON Patch or a JSON Merge Patch of the old ones: one of the
        three."""
        request = component_service_pb2.CommitExecutionRequest(execution_id=execution_id, session=self.session)
        if patch is not None:
            request.patch = _json.encode("patch", list(patch))
        elif merge_patch is not None:
            request.merge_patch = body_of("patch", merge_patch)
        else:
            request.values = body_of("values", {} if values is None else values)
        return _convert.execution((self._call(_COMPONENT, "CommitExecution", request, timeout)).execution)

    def component_values(self, slug: str, *, subject: str = "", timeout: float | None = None) -> Execution:
        """Returns the values of a component as the client's session has them."""
        request = component_service_pb2.GetComponentValuesRequest(slug=slug, session=self.session, subject=subject)
        return _convert.execution((self._call(_COMPONENT, "GetComponentValues", request, timeout)).execution)

    # Agents

    def create_agent(self, name: str, *, timeout: float | None = None, **spec: Any) -> Agent:
        """Makes an agent that sessions start from, for operators. The rest of it: `model_ref`, `instructions`, `tool_refs`,
        `state_refs`, `workflow`, `policy`, `enable_conversations`."""
        request = agent_service_pb2.CreateAgentRequest(spec=agent_pb2.AgentSpec(name=name, **spec))
        return _convert.agent((self._call(_AGENT, "CreateAgent", request, timeout)).agent)

    def update_agent(self, name: str, *, expected_version: int = 0, timeout: float | None = None, **spec: Any) -> Agent:
        """Replaces an agent, for operators; members that are left out are empty."""
        request = agent_service_pb2.UpdateAgentRequest(
            spec=agent_pb2.AgentSpec(name=name, **spec), expected_version=expected_version
        )
        return _convert.agent((self._call(_AGENT, "UpdateAgent", request, timeout)).agent)

    def get_agent(self, name: str, *, timeout: float | None = None) -> Agent:
        """Returns an agent."""
        answer = self._call(_AGENT, "GetAgent", agent_service_pb2.GetAgentRequest(name=name), timeout)
        return _convert.agent(answer.agent)

    def list_agents(self, *, timeout: float | None = None) -> Iterator[Agent]:
        """Yields the agents."""
        request = agent_service_pb2.ListAgentsRequest(page_size=1000)
        while True:
            page = self._call(_AGENT, "ListAgents", request, timeout)
            for agent in page.agents:
                yield _convert.agent(agent)
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    def delete_agent(self, name: str, *, expected_version: int = 0, timeout: float | None = None) -> None:
        """Removes an agent, for operators."""
        request = agent_service_pb2.DeleteAgentRequest(name=name, expected_version=expected_version)
        self._call(_AGENT, "DeleteAgent", request, timeout)
