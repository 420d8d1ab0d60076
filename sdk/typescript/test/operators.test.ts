/** The parts of the client that operators and processes use, against `interlock up`. */
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { AwaitingApproval, Interlock, Rejected, Result, add, type Approval, type Run, type ScheduleSpec } from "../src/index.js";
import { Case } from "./host.js";
import { all } from "./matching.js";

const workflow = {
  id: "work", initial: "a", meta: { debug: true, capture_output: true },
  interrupts: { sql: { trigger: { file_pattern: "**/*.sql" }, target: "b" } },
  states: { a: { allowed_tools: ["Read", "Edit", "Deploy"], on: { GO: "b" } }, b: { on: { BACK: "a", END: "c" } }, c: { type: "final" } },
};
const policy = { name: "asks", role: "agent", meta: { tools: ["Deploy"] }, ask: [{ capability: "tool:Deploy" }] };
const question = {
  name: "check", initial: "tests",
  states: {
    tests: { question: "Have all tests passed?", answers: { yes: { next: "notes" }, no: { next: null, action: "block" } } },
    notes: { question: "Are the notes complete?", answers: { yes: { next: null, action: "complete" }, no: { next: "notes" } } },
  },
};
const component = { name: "Notes", slug: "notes", persistence: "session", schema_definition: { n: { type: "integer" } }, initial_values: { n: 0 } };

let host: Case;
let agent: Interlock;
let operator: Interlock;
let approver: Interlock;

beforeAll(async () => {
  host = await Case.begin(inject("control"), { workflows: [workflow], policies: [policy], schemas: { doc: { type: "object" } } });
  const { server, namespace } = host;
  const as = (token: string): Interlock => new Interlock({ server, namespace, token, session: "ops" });
  [agent, operator, approver] = [as(host.token), as(host.roles["operator"]!), as(host.roles["approver"]!)];
  await agent.createSession({ name: "ops" });
});
afterAll(async () => {
  await Promise.all([agent, operator, approver].map((one) => one?.close()));
  await host?.end();
});

test("components", async () => {
  expect(await operator.createComponent(component)).toMatchObject({ slug: "notes", persistence: "SESSION", version: 1, initialValues: { n: 0 } });
  expect(await operator.updateComponent("notes", { ...component, name: "More" }, { expectedVersion: 1 })).toMatchObject({ name: "More", version: 2 });
  await expect(operator.updateComponent("notes", component, { expectedVersion: 1 })).rejects.toMatchObject({ reason: "VERSION_CONFLICT" });
  expect(await agent.getComponent("notes")).toMatchObject({ name: "More" });
  expect((await all(agent.listComponents())).map((one) => one.slug)).toEqual(["notes"]);
  const session = await agent.createSession({ name: "chat", parent: "ops", stateRef: "notes" });
  const chat = agent.forSession(session.id);
  const begun = await chat.beginExecution();
  expect(begun).toMatchObject({ slug: "notes", values: { n: 0 } });
  expect(await chat.commitExecution(begun.id, { patch: [add("/n", 1)] })).toMatchObject({ values: { n: 1 } });
  expect((await chat.componentValues()).values).toEqual({ n: 1 });
  await operator.deleteComponent("notes");
  await expect(agent.getComponent("notes")).rejects.toMatchObject({ reason: "NOT_FOUND" });
});

test("a schedule is read as it was written", async () => {
  const spec: ScheduleSpec = {
    name: "yearly", workflow: "work", workflowVersion: 1, cron: "0 7 29 2 *", zone: "Europe/Berlin", missed: "all", overlap: "allow", sessionId: "",
    sessionPrefix: "leap", context: { of: "yesterday" }, workspace: "/work", until: new Date("2096-02-29T12:00:00Z"),
  };
  const made = await operator.createSchedule(spec, { paused: true });
  expect(made).toMatchObject({ spec, version: 1, status: "paused", createdBy: "operator", last: undefined });
  expect(made.createdAt).toBeInstanceOf(Date);
  const { runId, sessionId } = await operator.triggerSchedule("yearly");
  expect((await agent.getRun(runId)).schedule).toBe("yearly");
  expect((await operator.getSchedule("yearly")).last).toMatchObject({ result: "started", count: 1, runId, sessionId, code: "", reason: "" });
  expect((await operator.scheduleTimes("yearly", { count: 2 })).map((at) => at.toISOString().slice(4))).toEqual(Array(2).fill("-02-29T06:00:00.000Z"));
  await expect(operator.createSchedule({ ...spec, missed: "never" as "skip" })).rejects.toThrow('missed must be one of skip, once, all, not "never"');
  await operator.deleteSchedule("yearly", { expectedVersion: 1 });
});

test("a set is applied in one commit, and can wait as a shadow", async () => {
  const rules = (tool: string) => ({ name: "set-calls", role: "agent", default: "allow", deny: [{ capability: `tool:${tool}` }] });
  const first = await operator.registerPolicy(rules("WebFetch"), { staged: true });
  await expect(operator.getPolicy("set-calls")).rejects.toMatchObject({ reason: "NOT_FOUND" });
  const attachments = [{ to: "workflow", id: "work" }] as const;
  const change = { kind: "policy", name: "set-calls", version: first.version, attachments } as const;
  const set = await operator.applySet("shop", [change], { repo: "git.example.com/shop", commit: "abc" });
  expect(set).toMatchObject({
    name: "shop", version: 1, changed: true, repo: "git.example.com/shop", commit: "abc", appliedBy: "operator", shadow: undefined,
    objects: [{ kind: "policy", name: "set-calls", version: 1, digest: first.digest, ownsAttachments: true }],
  });
  expect(set.appliedAt).toBeInstanceOf(Date);
  const second = await operator.registerPolicy(rules("WebSearch"), { staged: true });
  const next = { kind: "policy", name: "set-calls", expectedVersion: 1, version: second.version } as const;
  await expect(operator.applySet("shop", [next])).rejects.toMatchObject({ reason: "VERSION_CONFLICT" });
  const waits = await operator.applySet("shop", [next], { expectedVersion: 1, shadowSeconds: 3600 });
  expect(waits.shadow).toMatchObject({
    startedBy: "operator", objects: [{ kind: "policy", name: "set-calls", version: 2, liveVersion: 1, attachments: undefined, judged: true }],
  });
  expect((await operator.getPolicy("set-calls")).version).toBe(1);
  await expect(operator.applySet("shop", [next], { expectedVersion: 2 })).rejects.toMatchObject({ reason: "FAILED_PRECONDITION" });
  expect(await operator.applySet("shop", [next], { expectedVersion: 2, now: true })).toMatchObject({ version: 3, shadow: undefined });
  expect((await operator.getPolicy("set-calls")).version).toBe(2);
  expect((await operator.listSets()).map((one) => one.name)).toEqual(["shop"]);
  expect((await operator.getSet("shop")).objects[0]?.version).toBe(2);
  await expect(agent.applySet("shop", [next], { expectedVersion: 3 })).rejects.toMatchObject({ reason: "PERMISSION_DENIED" });
  await expect(operator.applySet("shop", [{ kind: "agent" as "policy", name: "s" }])).rejects.toThrow('kind must be one of workflow, process, policy, schema, component, not "agent"');
});

test("agents", async () => {
  const made = await operator.createAgent({ name: "coder", modelRef: "small", instructions: "Work.", toolRefs: ["Read"], workflow: "work" });
  expect(made).toMatchObject({ name: "coder", modelRef: "small", toolRefs: ["Read"], version: 1 });
  expect(await operator.updateAgent({ name: "coder", instructions: "Rest." }, { expectedVersion: 1 })).toMatchObject({ instructions: "Rest.", version: 2 });
  expect((await all(agent.listAgents())).map((one) => one.name)).toEqual(["coder"]);
  expect((await agent.getAgent("coder")).instructions).toBe("Rest.");
  await operator.deleteAgent("coder");
  await expect(agent.getAgent("coder")).rejects.toMatchObject({ reason: "NOT_FOUND" });
  await expect(agent.createAgent({ name: "mine" })).rejects.toMatchObject({ reason: "PERMISSION_DENIED" });
});

test("processes", async () => {
  expect(await operator.registerProcess(question)).toMatchObject({ name: "check", version: 1, created: true });
  expect((await all(agent.listProcesses())).map((one) => one.name)).toEqual(["check"]);
  expect((await agent.getProcess("check")).definition).toMatchObject({ initial: "tests" });
  const asked = agent.forSession("asked");
  expect(await asked.startProcess("check")).toMatchObject({ question: "Have all tests passed?", answers: ["yes", "no"] });
  await expect(asked.answerQuestion("perhaps")).rejects.toBeInstanceOf(Rejected);
  expect(await asked.answerQuestion("yes", { note: "all green", idempotencyKey: "one" })).toMatchObject({ question: "Are the notes complete?" });
  expect(await asked.answerQuestion("yes", { note: "all green", idempotencyKey: "one" })).toMatchObject({ question: "Are the notes complete?" });
  expect((await asked.getQuestion()).run.ended).toBe(false);
  expect((await asked.answerQuestion("yes")).run).toMatchObject({ ended: true, status: "COMPLETED" });
});

test("sessions", async () => {
  const child = await agent.createSession({ name: "child", parent: "ops" });
  expect(await agent.getSession("child")).toMatchObject({ id: child.id, status: "RUNNING" });
  expect((await all(operator.listSessions())).map((one) => one.name)).toContain("child");
  const bound = agent.forSession("child");
  await expect(bound.sessionResult()).rejects.toMatchObject({ reason: "NOT_FOUND" });
  expect((await bound.stopSession("", { result: { found: 3 } })).session.status).not.toBe("RUNNING");
  expect(await agent.sessionResult("child")).toEqual({ found: 3 });
});

describe("runs", () => {
  test("are watched, forced and diverted", async () => {
    const bound = agent.forSession("watched");
    const run = await bound.load("work");
    const states: string[] = [];
    const watching = (async () => {
      for await (const at of bound.watchRun()) if (states.at(-1) !== at.state) states.push(at.state);
    })();
    const edited = await bound.guard("Edit", { file_path: "db/a.sql", old_string: "a", new_string: "b" }, () => new Result({ output: "edited" }));
    expect(edited.report).toMatchObject({ interrupt: { name: "sql", from: "a", to: "b" }, run: { id: run.id, state: "b" } });
    expect((await operator.forceState(run.id, "a", { context: { why: "test" } })).state).toBe("a");
    await expect(operator.forceState(run.id, "nowhere")).rejects.toBeInstanceOf(Rejected);
    await bound.transition("GO");
    await bound.transition("END");
    await watching;
    expect(states.at(-1)).toBe("c");
    expect((await all(agent.getRunHistory(run.id))).map((one) => one.type)).toEqual(expect.arrayContaining(["STARTED", "INTERRUPT_FIRED", "TOOL_RESULT", "FORCED", "TRANSITIONED"]));
    expect((await all(operator.listRuns("workflow=work"))).map((one) => one.id)).toContain(run.id);
    await expect(bound.forRun(run.id).waitRun("", { until: (at: Run) => at.state === "never" })).resolves.toMatchObject({ state: "c" });
  });

  test("waiting for one ends with the time that it has", async () => {
    const bound = agent.forSession("waiting");
    await bound.load("work");
    await expect(bound.waitRun("", { timeoutMs: 50 })).rejects.toMatchObject({ reason: "DEADLINE_EXCEEDED" });
    const gone = new AbortController();
    const waits = bound.waitRun("", { signal: gone.signal });
    gone.abort();
    await expect(waits).rejects.toMatchObject({ reason: "CANCELLED" });
  });
});

test("approvals are watched, and a lease admits later calls", async () => {
  const bound = agent.forSession("asking");
  await bound.load("work");
  const gone = new AbortController();
  const seen: Approval[] = [];
  let first = (): void => undefined;
  const created = new Promise<void>((resolve) => (first = resolve));
  const watching = (async () => {
    for await (const approval of operator.watchApprovals({ signal: gone.signal })) {
      seen.push(approval);
      first();
    }
  })();
  const call = () => bound.guard("Deploy", { to: "test" }, () => "deployed");
  let asked: AwaitingApproval | undefined;
  do asked = await call().catch((err: AwaitingApproval) => err) as AwaitingApproval; while (!(asked instanceof AwaitingApproval));
  const approval = await approver.getApproval(asked.approvalId);
  expect(approval).toMatchObject({ mayDecide: true, data: { to: "test" }, kind: "TOOL_CALL", sessionId: expect.any(String) });
  await expect(approver.decideApproval(approval.id, true, { digest: "0".repeat(64) })).rejects.toMatchObject({ name: "Fault" });
  const lease = { only: { "/to": "test" }, calls: 3, minutes: 5 };
  expect(await approver.decideApproval(approval.id, true, { note: "go", digest: approval.digest, lease })).toMatchObject({ granted: true, votes: [{ approve: true, note: "go" }] });
  await created;
  gone.abort();
  await expect(watching).rejects.toMatchObject({ reason: "CANCELLED" });
  expect(seen.map((one) => one.id)).toContain(approval.id);
  expect((await call()).value).toBe("deployed");
  expect((await call()).value).toBe("deployed");
  const [open] = await all(approver.listLeases());
  expect(open).toMatchObject({ approvalId: approval.id, callsLeft: 1 });
  await approver.revokeLease(open!.id);
  await expect(call()).rejects.toBeInstanceOf(AwaitingApproval);
});

test("definitions are read, and policies attached", async () => {
  expect((await agent.getWorkflow("work")).definition).toMatchObject({ id: "work" });
  expect((await all(agent.listWorkflows())).map((one) => one.name)).toContain("work");
  expect((await all(agent.listSchemas())).map((one) => one.name)).toEqual(["doc"]);
  expect((await agent.getSchema("doc", { version: 1 })).definition).toEqual({ type: "object" });
  const limited = { allow: [{ capability: "tool:Read", rate_limit: { max_calls: 5, window_seconds: 3600 } }] };
  expect(await operator.registerPolicy({ role: "agent", ...limited }, { name: "limits" })).toMatchObject({ name: "limits", created: true });
  await operator.attachPolicy("limits", [{ to: "session", id: "limited" }, { to: "group", id: "support" }]);
  const bound = agent.forSession("limited");
  await bound.load("work");
  await bound.guard("Read", {}, () => "text");
  expect(await operator.policyUsage("limits", { session: "limited" })).toMatchObject([{ measure: "CALLS", used: 1, max: 5 }]);
  await operator.detachPolicy("limits", { to: "session", id: "limited" });
  expect((await all(operator.listPolicies())).map((one) => one.name).sort()).toEqual(["asks", "limits"]);
});
