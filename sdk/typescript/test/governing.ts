/** The calls of sdk/conformance/governance.yaml, by their names there, as calls of this SDK. */
import type { Attachment, ExceptionScope, HaltScope, Interlock, Json, ScheduleSpec } from "../src/index.js";
import { all } from "./matching.js";

type Args = Record<string, any>;

const places = (list: { kind: Attachment["to"]; id?: string }[]): Attachment[] => list.map(({ kind, id }) => ({ to: kind, ...(id && { id }) }));

const calls: Readonly<Record<string, (client: Interlock, args: Args) => Promise<unknown>>> = {
  who_am_i: (client) => client.whoAmI(),
  get_session: (client, args) => client.getSession(args["id"]),
  delete_session: (client, args) => client.deleteSession(args["id"], { cascade: args["cascade"] ?? false }),
  narrow_session: (client, args) => client.narrowSession(args["only"] as Json | undefined, { id: args["id"] ?? "", replace: args["replace"] ?? false }),
  mint_session_token: (client, { id, session, branch, name, ttl_seconds: ttlSeconds, only }) => client.mintSessionToken(id, { session, branch, name, ttlSeconds, only }),
  list_session_tokens: (client, args) => client.listSessionTokens(args["id"]),
  revoke_session_tokens: (client, args) => client.revokeSessionTokens(args["token_id"], { id: args["id"] ?? "" }),
  create_agent: (client, args) => client.createAgent({ name: args["name"] as string, modelRef: "model", instructions: "Work." }),
  delete_agent: (client, args) => client.deleteAgent(args["name"]),
  list_refusals: (client) => client.listRefusals(),
  approval_statement: async (client, args) => {
    const said = await client.approvalStatement(args["approval"], args["approve"], { note: args["note"] ?? "" });
    return { shown: said.shown, presence: said.presence, statement: Buffer.from(said.statement).toString() };
  },
  attach_policy: (client, args) => client.attachPolicy(args["name"], places(args["to"])),
  detach_policy: (client, args) => client.detachPolicy(args["name"], places(args["from"])),
  policy_usage: (client, args) => client.policyUsage(args["name"], { principal: args["principal"] ?? "", human: args["human"] ?? "" }),
  add_exception: (client, { policy, rule, reason, minutes, scope }) =>
    client.addException({ policy, rule, reason, scope: scope as ExceptionScope, until: new Date(Date.now() + minutes * 60_000) }),
  list_exceptions: (client, args) => client.listExceptions(args["policy"]),
  confirm_exception: (client, args) => client.confirmException(args["exception"]),
  end_exception: (client, args) => client.endException(args["exception"]),
  create_halt: (client, { kind, name, reason }) => client.createHalt({ kind, name } as HaltScope, reason),
  lift_halt: (client, args) => client.liftHalt(args["halt"], args["reason"]),
  create_freeze: (client, { workflow, minutes, reason }) => client.createFreeze(workflow, new Date(Date.now() + minutes * 60_000), reason),
  lift_freeze: (client, args) => client.liftFreeze(args["freeze"], args["reason"]),
  list_freezes: (client) => client.listFreezes(),
  list_halts: (client) => client.listHalts(),
  create_schedule: (client, { paused = false, ...spec }) => client.createSchedule(spec as ScheduleSpec, { paused }),
  get_schedule: (client, { name, version = 0 }) => client.getSchedule(name, { version }),
  list_schedules: (client) => all(client.listSchedules()),
  update_schedule: (client, { expected_version: expectedVersion = 0, ...spec }) => client.updateSchedule(spec as ScheduleSpec, { expectedVersion }),
  pause_schedule: (client, args) => client.pauseSchedule(args["name"]),
  resume_schedule: (client, args) => client.resumeSchedule(args["name"]),
  trigger_schedule: (client, { name, idempotency_key: idempotencyKey = "" }) => client.triggerSchedule(name, { idempotencyKey }),
  delete_schedule: (client, args) => client.deleteSchedule(args["name"]),
  schedule_times: (client, { name, count }) => client.scheduleTimes(name, { count }),
};

/** Makes a call that is about who may do what. */
export function govern(client: Interlock, name: string, args: Args): Promise<unknown> {
  const call = calls[name];
  if (!call) throw new Error(`no call ${name}`);
  return call(client, args);
}
