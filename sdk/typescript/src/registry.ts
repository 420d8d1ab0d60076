import { ProcessService } from "./gen/interlock/engine/v1/process_service_pb.js";
import type { AnswerQuestionResponse, StartProcessResponse } from "./gen/interlock/engine/v1/process_service_pb.js";
import { WorkflowService } from "./gen/interlock/engine/v1/workflow_service_pb.js";
import { DecisionService } from "./gen/interlock/policy/v1/decision_service_pb.js";
import { PolicyEnforcerService } from "./gen/interlock/policy/v1/policy_enforcer_service_pb.js";
import { AttachmentKind } from "./gen/interlock/policy/v1/policy_pb.js";
import { PolicyService } from "./gen/interlock/policy/v1/policy_service_pb.js";
import { AgentService } from "./gen/interlock/state/v1/agent_service_pb.js";
import { ComponentService } from "./gen/interlock/state/v1/component_service_pb.js";
import { SchemaService } from "./gen/interlock/state/v1/schema_service_pb.js";
import { keyOf, noSession, type ChangeOptions } from "./base.js";
import { moved, runOf } from "./convert.js";
import { JsonText, encode, type Json } from "./json.js";
import type { Op } from "./patch.js";
import { agentOf, componentOf, definitionOf, executionOf, openCallOf, recordOf, usageOf } from "./records.js";
import type { CallOptions } from "./retry.js";
import { Sessions } from "./sessions.js";
import type { Agent, Component, Execution } from "./state-types.js";
import type { Cost, DecisionRecord, Definition, OpenCall, Turn, Usage } from "./types.js";

/** Where a policy holds. */
export interface Attachment {
  to: "workflow" | "process" | "session" | "role" | "principal" | "human" | "group" | "agent" | "everyone";
  /** The name of the workflow, process, principal, human, group or agent, the session, or the role; none for everyone. */
  id?: string;
}

/** A definition: an object, or its text. */
export type DefinitionText = object | string;

/** The settings of an agent that sessions start with. */
export type AgentSpec = { name: string } & Partial<Omit<Agent, "id" | "version" | "name">>;

/** Options of a change that rests on a version; 0 or absent for any. */
export interface VersionOptions extends CallOptions {
  expectedVersion?: number;
}

/** Options of the registration of a definition. */
export interface StagedOptions extends ChangeOptions {
  /** Store a version that is not live: `applySet` makes it live. */
  staged?: boolean;
}

/** Operators' part of a client: definitions, records, components and agents. */
export class Registry extends Sessions {
  // Definitions

  /** Registers a version of a workflow. The same definition again is the same version. Its problems are the `violations` of a Fault. */
  async registerWorkflow(definition: DefinitionText, options: StagedOptions = {}): Promise<Definition> {
    const request = { definition: bytesOf(definition), staged: options.staged ?? false, ...keyOf(options) };
    const answer = await this.call(options, (call) => this.rpc(WorkflowService).registerWorkflow(request, call));
    return definitionOf(answer.workflow, answer.workflow?.definition, answer);
  }

  /** Returns a version of a workflow, the latest by default. */
  async getWorkflow(name: string, options: CallOptions & { version?: number } = {}): Promise<Definition> {
    const request = { name, version: BigInt(options.version ?? 0) };
    const { workflow } = await this.call(options, (call) => this.rpc(WorkflowService).getWorkflow(request, call));
    return definitionOf(workflow, workflow?.definition);
  }

  /** Yields the latest versions of workflows. */
  listWorkflows(options: CallOptions = {}): AsyncGenerator<Definition, void, undefined> {
    const page = (pageToken: string, call: object) => this.rpc(WorkflowService).listWorkflows({ pageToken }, call);
    return this.pages(options, page, (answer) => answer.workflows.map((one) => definitionOf(one, one.definition)));
  }

  /** Registers a version of a policy under the name that it has. A shadow makes no decisions; the log shows where it differs. */
  async registerPolicy(definition: DefinitionText, options: StagedOptions & { name?: string; shadow?: boolean } = {}): Promise<Definition> {
    const request = { name: options.name ?? "", definition: bytesOf(definition), shadow: options.shadow ?? false, staged: options.staged ?? false, ...keyOf(options) };
    const answer = await this.call(options, (call) => this.rpc(PolicyService).registerPolicy(request, call));
    return definitionOf(answer.policy, answer.policy?.definition, answer);
  }

  /** Returns a version of a policy, the one in force by default. */
  async getPolicy(name: string, options: CallOptions & { version?: number } = {}): Promise<Definition> {
    const request = { name, version: BigInt(options.version ?? 0) };
    const { policy } = await this.call(options, (call) => this.rpc(PolicyService).getPolicy(request, call));
    return definitionOf(policy, policy?.definition);
  }

  /** Yields policies. */
  listPolicies(options: CallOptions = {}): AsyncGenerator<Definition, void, undefined> {
    const page = (pageToken: string, call: object) => this.rpc(PolicyService).listPolicies({ pageToken }, call);
    return this.pages(options, page, (answer) => answer.policies.map((one) => definitionOf(one, one.definition)));
  }

  /** Lets a policy hold in one place or several, in one commit. */
  async attachPolicy(name: string, where: Attachment | Attachment[], options: CallOptions = {}): Promise<Definition> {
    const { policy } = await this.call(options, (call) => this.rpc(PolicyService).attachPolicy({ name, to: messagesOf(where) }, call));
    return definitionOf(policy, policy?.definition);
  }

  /** Ends that. */
  async detachPolicy(name: string, where: Attachment | Attachment[], options: CallOptions = {}): Promise<Definition> {
    const { policy } = await this.call(options, (call) => this.rpc(PolicyService).detachPolicy({ name, from: messagesOf(where) }, call));
    return definitionOf(policy, policy?.definition);
  }

  /**
   * Returns how much of the limits of a policy is spent, by default of the client's session. Limits per principal and per human are only
   * in it with these; a human is the name of a person, or the issuer, # and the name there.
   */
  async policyUsage(name: string, options: CallOptions & { principal?: string; human?: string; session?: string } = {}): Promise<Usage[]> {
    const request = { name, principal: options.principal ?? "", human: options.human ?? "", sessionId: options.session ?? this.session };
    return (await this.call(options, (call) => this.rpc(PolicyService).getPolicyUsage(request, call))).usages.map(usageOf);
  }

  /** Registers a version of the schema of shared states. */
  async registerSchema(name: string, schema: DefinitionText, options: ChangeOptions & { description?: string } = {}): Promise<Definition> {
    const request = { name, jsonSchema: bytesOf(schema), description: options.description ?? "", ...keyOf(options) };
    const answer = await this.call(options, (call) => this.rpc(SchemaService).registerSchema(request, call));
    return definitionOf(answer.schema, answer.schema?.jsonSchema, { created: answer.created });
  }

  /** Returns a version of a schema, the latest by default. */
  async getSchema(name: string, options: CallOptions & { version?: number } = {}): Promise<Definition> {
    const request = { name, version: BigInt(options.version ?? 0) };
    const { schema } = await this.call(options, (call) => this.rpc(SchemaService).getSchema(request, call));
    return definitionOf(schema, schema?.jsonSchema);
  }

  /** Yields the latest versions of schemas. */
  listSchemas(options: CallOptions = {}): AsyncGenerator<Definition, void, undefined> {
    const page = (pageToken: string, call: object) => this.rpc(SchemaService).listSchemas({ pageToken }, call);
    return this.pages(options, page, (answer) => answer.schemas.map((one) => definitionOf(one, one.jsonSchema)));
  }

  // Records

  /** Yields decisions of the log, newest first, with a filter as on the command line, such as `decision=DENY`. */
  listDecisions(filter = "", options: CallOptions = {}): AsyncGenerator<DecisionRecord, void, undefined> {
    const page = (pageToken: string, call: object) => this.rpc(DecisionService).listDecisions({ filter, pageToken }, call);
    return this.pages(options, page, (answer) => answer.decisions.map((one) => recordOf(one)));
  }

  /** Returns the recorded decision on a call, with why it was decided so. By default of the client's run or session. */
  async explainDecision(callId: string, options: CallOptions & { runId?: string } = {}): Promise<DecisionRecord> {
    const judged = options.runId ? { runId: options.runId, sessionId: "" } : this.driven();
    const request = { ...judged, callId, explain: true };
    const answer = await this.call(options, (call) => this.rpc(DecisionService).getDecision(request, call));
    if (!answer.decision) throw new TypeError("the answer has no decision");
    return recordOf(answer.decision, answer.explanation);
  }

  /** Lists the allowed calls of a run, by default of the client's, that have no outcome yet (S16). */
  async listOpenCalls(runId = "", options: CallOptions = {}): Promise<OpenCall[]> {
    const request = { runId: await this.runId(runId, options) };
    return (await this.call(options, (call) => this.rpc(PolicyEnforcerService).listOpenCalls(request, call))).calls.map(openCallOf);
  }

  /** Records how an open call has ended, by the word of an operator or approver (S16.4). */
  async settleCall(
    callId: string,
    outcome: "ok" | "failed" | "not_executed",
    options: CallOptions & { runId?: string; note?: string } = {},
  ): Promise<OpenCall> {
    const request = { runId: await this.runId(options.runId ?? "", options), callId, outcome, note: options.note ?? "" };
    const answer = await this.call(options, (call) => this.rpc(PolicyEnforcerService).settleToolCall(request, call));
    if (!answer.call) throw new TypeError("the answer has no call");
    return openCallOf(answer.call);
  }

  /**
   * Counts costs of the client's session that are in no call's report, by the source that knows them, such as "transcript", and
   * returns how many counted and the session's costs in all.
   */
  async reportCost(source: string, costs: readonly Cost[], options: CallOptions = {}): Promise<{ counted: number; totalUsd: string }> {
    if (this.session === "") throw noSession("reporting a cost");
    const request = {
      sessionId: this.session, source,
      costs: costs.map((cost) => ({ id: cost.id, costUsd: cost.usd, total: cost.total ?? false })),
    };
    const { counted, totalUsd } = await this.call(options, (call) => this.rpc(PolicyEnforcerService).reportCost(request, call));
    return { counted, totalUsd };
  }

  // Processes

  /** Registers a version of a process. */
  async registerProcess(definition: DefinitionText, options: StagedOptions = {}): Promise<Definition> {
    const request = { definition: bytesOf(definition), staged: options.staged ?? false, ...keyOf(options) };
    const answer = await this.call(options, (call) => this.rpc(ProcessService).registerProcess(request, call));
    return definitionOf(answer.process, answer.process?.definition, answer);
  }

  /** Returns a version of a process, the latest by default. */
  async getProcess(name: string, options: CallOptions & { version?: number } = {}): Promise<Definition> {
    const request = { name, version: BigInt(options.version ?? 0) };
    const { process } = await this.call(options, (call) => this.rpc(ProcessService).getProcess(request, call));
    return definitionOf(process, process?.definition);
  }

  /** Yields the latest versions of processes. */
  listProcesses(options: CallOptions = {}): AsyncGenerator<Definition, void, undefined> {
    const page = (pageToken: string, call: object) => this.rpc(ProcessService).listProcesses({ pageToken }, call);
    return this.pages(options, page, (answer) => answer.processes.map((one) => definitionOf(one, one.definition)));
  }

  /** Starts a process for the client's session, and returns its first question. */
  async startProcess(name: string, options: ChangeOptions & { version?: number; workspace?: string } = {}): Promise<Turn> {
    const request = {
      process: name, version: BigInt(options.version ?? 0), sessionId: this.session, workspace: options.workspace ?? "", ...keyOf(options),
    };
    return turnOf(await this.call(options, (call) => this.rpc(ProcessService).startProcess(request, call)));
  }

  /** Answers the question of the client's process, and returns the next. Throws Rejected or AwaitingApproval, as `transition` does. */
  async answerQuestion(answer: string, options: ChangeOptions & { note?: string } = {}): Promise<Turn> {
    const request = { ...this.driven(), answer, note: options.note ?? "", ...keyOf(options) };
    const answered = await this.call(options, (call) => this.rpc(ProcessService).answerQuestion(request, call));
    moved({ ...answered, $typeName: "interlock.engine.v1.TransitionRunResponse", note: "" });
    return turnOf(answered);
  }

  /** Returns the question that the client's process is at. */
  async getQuestion(options: CallOptions = {}): Promise<Turn> {
    return turnOf(await this.call(options, (call) => this.rpc(ProcessService).answerQuestion(this.driven(), call)));
  }

  // Components

  /** Makes a component of its definition (S12). */
  async createComponent(definition: DefinitionText, options: ChangeOptions = {}): Promise<Component> {
    const request = { definition: bytesOf(definition), ...keyOf(options) };
    return componentOf((await this.call(options, (call) => this.rpc(ComponentService).createComponent(request, call))).component);
  }

  /** Returns a component. */
  async getComponent(slug: string, options: CallOptions = {}): Promise<Component> {
    return componentOf((await this.call(options, (call) => this.rpc(ComponentService).getComponent({ slug }, call))).component);
  }

  /** Yields components. */
  listComponents(filter = "", options: CallOptions = {}): AsyncGenerator<Component, void, undefined> {
    const page = (pageToken: string, call: object) => this.rpc(ComponentService).listComponents({ filter, pageToken }, call);
    return this.pages(options, page, (answer) => answer.components.map(componentOf));
  }

  /** Replaces the definition of a component. */
  async updateComponent(slug: string, definition: DefinitionText, options: VersionOptions = {}): Promise<Component> {
    const request = { slug, definition: bytesOf(definition), expectedVersion: BigInt(options.expectedVersion ?? 0) };
    return componentOf((await this.call(options, (call) => this.rpc(ComponentService).updateComponent(request, call))).component);
  }

  /** Deletes a component. */
  async deleteComponent(slug: string, options: VersionOptions = {}): Promise<void> {
    const request = { slug, expectedVersion: BigInt(options.expectedVersion ?? 0) };
    await this.call(options, (call) => this.rpc(ComponentService).deleteComponent(request, call));
  }

  /** Begins an execution with the values of a component. Without a slug, of the session's. */
  async beginExecution(slug = "", options: CallOptions & { subject?: string } = {}): Promise<Execution> {
    const request = { slug, session: this.session, subject: options.subject ?? "" };
    return executionOf((await this.call(options, (call) => this.rpc(ComponentService).beginExecution(request, call))).execution);
  }

  /** Ends an execution with values: new ones, a JSON Patch, or a JSON Merge Patch. */
  async commitExecution(
    executionId: string,
    change: { values: Json } | { patch: readonly Op[] } | { mergePatch: Json },
    options: CallOptions = {},
  ): Promise<Execution> {
    const [kind, value] = Object.entries(change)[0] as ["values" | "patch" | "mergePatch", unknown];
    const request = { executionId, session: this.session, change: { case: kind, value: encode(kind, value) } };
    return executionOf((await this.call(options, (call) => this.rpc(ComponentService).commitExecution(request, call))).execution);
  }

  /** Returns the values of a component as they are. Without a slug, of the session's. */
  async componentValues(slug = "", options: CallOptions & { subject?: string } = {}): Promise<Execution> {
    const request = { slug, session: this.session, subject: options.subject ?? "" };
    return executionOf((await this.call(options, (call) => this.rpc(ComponentService).getComponentValues(request, call))).execution);
  }

  // Agents

  /** Makes an agent: the settings that sessions of it start with. */
  async createAgent(spec: AgentSpec, options: CallOptions = {}): Promise<Agent> {
    return agentOf((await this.call(options, (call) => this.rpc(AgentService).createAgent({ spec: specOf(spec) }, call))).agent);
  }

  /** Returns an agent. */
  async getAgent(name: string, options: CallOptions = {}): Promise<Agent> {
    return agentOf((await this.call(options, (call) => this.rpc(AgentService).getAgent({ name }, call))).agent);
  }

  /** Yields agents. */
  listAgents(options: CallOptions = {}): AsyncGenerator<Agent, void, undefined> {
    const page = (pageToken: string, call: object) => this.rpc(AgentService).listAgents({ pageToken }, call);
    return this.pages(options, page, (answer) => answer.agents.map(agentOf));
  }

  /** Replaces the settings of an agent. */
  async updateAgent(spec: AgentSpec, options: VersionOptions = {}): Promise<Agent> {
    const request = { spec: specOf(spec), expectedVersion: BigInt(options.expectedVersion ?? 0) };
    return agentOf((await this.call(options, (call) => this.rpc(AgentService).updateAgent(request, call))).agent);
  }

  /** Deletes an agent. */
  async deleteAgent(name: string, options: VersionOptions = {}): Promise<void> {
    const request = { name, expectedVersion: BigInt(options.expectedVersion ?? 0) };
    await this.call(options, (call) => this.rpc(AgentService).deleteAgent(request, call));
  }
}

function bytesOf(definition: DefinitionText): Uint8Array<ArrayBuffer> {
  return encode("definition", typeof definition === "string" ? new JsonText(definition) : definition);
}

const attachmentKinds = {
  workflow: AttachmentKind.WORKFLOW,
  process: AttachmentKind.PROCESS,
  session: AttachmentKind.SESSION,
  role: AttachmentKind.ROLE,
  principal: AttachmentKind.PRINCIPAL,
  human: AttachmentKind.HUMAN,
  group: AttachmentKind.GROUP,
  agent: AttachmentKind.AGENT,
  everyone: AttachmentKind.EVERYONE,
};

/** Attachments of messages; one of a kind that this version does not know is left out. */
export function attachmentsOf(messages: readonly { kind: AttachmentKind; id: string }[]): Attachment[] {
  const words = Object.keys(attachmentKinds) as Attachment["to"][];
  return messages.flatMap(({ kind, id }) => words.filter((to) => attachmentKinds[to] === kind).map((to) => ({ to, id })));
}

/** The messages of attachments. */
export function messagesOf(where: Attachment | Attachment[]): { kind: AttachmentKind; id: string }[] {
  return [where].flat().map(({ to, id = "" }) => ({ kind: attachmentKinds[to], id }));
}

function specOf(spec: AgentSpec): object {
  return { ...spec, ...(spec.toolRefs && { toolRefs: [...spec.toolRefs] }), ...(spec.stateRefs && { stateRefs: [...spec.stateRefs] }) };
}

function turnOf(answer: StartProcessResponse | AnswerQuestionResponse): Turn {
  const { turn } = answer;
  return {
    run: runOf(answer.run), question: turn?.question ?? "", answers: turn?.answers ?? [], text: turn?.text ?? "",
    initialPrompt: turn?.initialPrompt ?? "",
  };
}
