/** Schedules, which start runs at times: their types, and a client's calls about them. */
import type { DescEnum } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  MissedTimesSchema, ScheduleOverlapSchema, ScheduleResultSchema, ScheduleStatusSchema,
  type Schedule as ScheduleMessage, type ScheduleOutcome as OutcomeMessage, type ScheduleSpec as SpecMessage,
} from "./gen/interlock/engine/v1/schedule_pb.js";
import { ScheduleService } from "./gen/interlock/engine/v1/schedule_service_pb.js";
import { keyOf, type ChangeOptions } from "./base.js";
import { time, word } from "./convert.js";
import { Identities } from "./identity.js";
import { decode, encode, type Json } from "./json.js";
import type { VersionOptions } from "./registry.js";
import type { CallOptions } from "./retry.js";

/** The definition of a schedule: its workflow and its times (S25.20). */
export interface ScheduleSpec {
  /** Unique: 1 to 128 of a-z, 0-9 and -. */
  readonly name: string;
  /** Name of the workflow or process. */
  readonly workflow: string;
  /** Five fields, such as "0 7 * * mon-fri", or a word such as "@daily". */
  readonly cron: string;
  /** Zone of the IANA database in which the times are, such as Europe/Berlin; UTC by default. */
  readonly zone?: string;
  /** The latest at each start by default. */
  readonly workflowVersion?: number;
  /** Rule for missed times: no run (the default), one run for all, or a run of each of the last 100 (S25.23). */
  readonly missed?: "skip" | "once" | "all";
  /** Rule for a time during the last run: no run (the default), one time waits, or runs overlap (S25.24). */
  readonly overlap?: "skip" | "queue" | "allow";
  /** The session of every run; a new session of each by default. */
  readonly sessionId?: string;
  /** Begins the names of new sessions; the name of the schedule by default. */
  readonly sessionPrefix?: string;
  /** A JSON object that is merged over the workflow's context. */
  readonly context?: Json | undefined;
  /** The root that file patterns are relative to. */
  readonly workspace?: string;
  /** There are no times after it. */
  readonly until?: Date | undefined;
  /** Entries that all calls of each new session must meet: a list, as a session has them. */
  readonly only?: Json | undefined;
}

/** The outcome of a time of a schedule. */
export interface ScheduleOutcome {
  readonly result: "" | "started" | "missed" | "skipped" | "queued" | "refused";
  /** The time; of several that were missed, the last. */
  readonly nominalAt: Date | undefined;
  /** When it was handled. */
  readonly at: Date | undefined;
  /** How many times this is about: more than one only of missed ones. */
  readonly count: number;
  /** The run that was started, or that has not ended; empty for none. */
  readonly runId: string;
  /** The session of the run that was started. */
  readonly sessionId: string;
  /** Code of a refusal, such as HALTED; empty for none. */
  readonly code: string;
  /** Why no run was started; empty for a start. */
  readonly reason: string;
}

/** Starts runs of a workflow or process at times (S25.20). */
export interface Schedule {
  readonly spec: ScheduleSpec;
  /** Counts the changes by people, from 1. */
  readonly version: number;
  readonly status: "" | "active" | "paused" | "ended";
  /** Who has put it: its runs are started as this principal. */
  readonly createdBy: string;
  readonly createdAt: Date | undefined;
  readonly updatedAt: Date | undefined;
  /** The next time at which it starts a run; undefined for none. */
  readonly nextAt: Date | undefined;
  /** The time that waits for the end of the last run; undefined for none. */
  readonly queuedAt: Date | undefined;
  /** Outcome of the last time; undefined before the first one. */
  readonly last: ScheduleOutcome | undefined;
  /** The run that it started last; empty for none. */
  readonly lastRunId: string;
  /** Its times so far, by their outcome. */
  readonly counts: { readonly started: number; readonly missed: number; readonly skipped: number; readonly refused: number };
}

/** The run that `triggerSchedule` has started. */
export interface Triggered {
  readonly runId: string;
  readonly sessionId: string;
  readonly schedule: Schedule;
}

/** A client's schedules. */
export class Schedules extends Identities {
  /** Starts runs at times, as the operator who calls (S25.20). NAME_TAKEN when there is another schedule of that name. */
  async createSchedule(spec: ScheduleSpec, options: CallOptions & { paused?: boolean } = {}): Promise<Schedule> {
    const request = { spec: messageOf(spec), paused: options.paused ?? false };
    return scheduleOf((await this.call(options, (call) => this.rpc(ScheduleService).createSchedule(request, call))).schedule);
  }

  /** Returns a schedule; with a version, with the definition that it had then. */
  async getSchedule(name: string, options: CallOptions & { version?: number } = {}): Promise<Schedule> {
    const request = { name, version: BigInt(options.version ?? 0) };
    return scheduleOf((await this.call(options, (call) => this.rpc(ScheduleService).getSchedule(request, call))).schedule);
  }

  /** Yields schedules, by name. */
  listSchedules(options: CallOptions = {}): AsyncGenerator<Schedule, void, undefined> {
    const page = (pageToken: string, call: object) => this.rpc(ScheduleService).listSchedules({ pageToken }, call);
    return this.pages(options, page, (answer) => answer.schedules.map(scheduleOf));
  }

  /** Replaces the definition of a schedule from now on, for operators: its runs are started as the caller. */
  async updateSchedule(spec: ScheduleSpec, options: VersionOptions = {}): Promise<Schedule> {
    const request = { spec: messageOf(spec), expectedVersion: BigInt(options.expectedVersion ?? 0) };
    return scheduleOf((await this.call(options, (call) => this.rpc(ScheduleService).updateSchedule(request, call))).schedule);
  }

  /** Keeps a schedule from starting runs, for operators. */
  async pauseSchedule(name: string, options: CallOptions = {}): Promise<Schedule> {
    return scheduleOf((await this.call(options, (call) => this.rpc(ScheduleService).pauseSchedule({ name }, call))).schedule);
  }

  /** Lets a paused schedule go on, for operators. Times that have passed were missed. */
  async resumeSchedule(name: string, options: CallOptions = {}): Promise<Schedule> {
    return scheduleOf((await this.call(options, (call) => this.rpc(ScheduleService).resumeSchedule({ name }, call))).schedule);
  }

  /** Starts a run of a schedule now, for operators, also of a paused one. */
  async triggerSchedule(name: string, options: ChangeOptions = {}): Promise<Triggered> {
    const request = { name, ...keyOf(options) };
    const { runId, sessionId, schedule } = await this.call(options, (call) => this.rpc(ScheduleService).triggerSchedule(request, call));
    return { runId, sessionId, schedule: scheduleOf(schedule) };
  }

  /** Removes a schedule, for operators. The runs that it has started go on. */
  async deleteSchedule(name: string, options: VersionOptions = {}): Promise<void> {
    const request = { name, expectedVersion: BigInt(options.expectedVersion ?? 0) };
    await this.call(options, (call) => this.rpc(ScheduleService).deleteSchedule(request, call));
  }

  /** Returns the next times of a schedule: 5 by default, at most 100. */
  async scheduleTimes(name: string, options: CallOptions & { count?: number } = {}): Promise<Date[]> {
    const request = { name, count: options.count ?? 0 };
    return (await this.call(options, (call) => this.rpc(ScheduleService).listScheduleTimes(request, call))).times.map(timestampDate);
  }
}

/** The value of a word of a rule; 0, the default, without one. An unknown word is a TypeError. */
function ruleOf(desc: DescEnum, what: string, given: string | undefined): number {
  if (given === undefined) return 0;
  const known = desc.values.filter((one) => one.number !== 0);
  const found = known.find((one) => word(desc, one.number).toLowerCase() === given);
  if (!found) throw new TypeError(`${what} must be one of ${known.map((one) => word(desc, one.number).toLowerCase()).join(", ")}, not ${JSON.stringify(given)}`);
  return found.number;
}

function messageOf(s: ScheduleSpec) {
  return {
    name: s.name, workflow: s.workflow, workflowVersion: BigInt(s.workflowVersion ?? 0), cron: s.cron, zone: s.zone ?? "",
    missed: ruleOf(MissedTimesSchema, "missed", s.missed), overlap: ruleOf(ScheduleOverlapSchema, "overlap", s.overlap),
    sessionId: s.sessionId ?? "", sessionPrefix: s.sessionPrefix ?? "", context: encode("context", s.context), workspace: s.workspace ?? "",
    only: encode("only", s.only),
    ...(s.until && { until: timestampFromDate(s.until) }),
  };
}

function specOf(s: SpecMessage): ScheduleSpec {
  return {
    name: s.name, workflow: s.workflow, cron: s.cron, zone: s.zone, workflowVersion: Number(s.workflowVersion),
    missed: word(MissedTimesSchema, s.missed).toLowerCase() as NonNullable<ScheduleSpec["missed"]>,
    overlap: word(ScheduleOverlapSchema, s.overlap).toLowerCase() as NonNullable<ScheduleSpec["overlap"]>,
    sessionId: s.sessionId, sessionPrefix: s.sessionPrefix, context: decode(s.context), workspace: s.workspace, until: time(s.until),
    only: decode(s.only),
  };
}

function outcomeOf(o: OutcomeMessage): ScheduleOutcome {
  return {
    result: word(ScheduleResultSchema, o.result).toLowerCase() as ScheduleOutcome["result"], nominalAt: time(o.nominalAt), at: time(o.at),
    count: Number(o.count), runId: o.runId, sessionId: o.sessionId, code: o.code, reason: o.reason,
  };
}

function scheduleOf(s: ScheduleMessage | undefined): Schedule {
  if (!s?.spec) throw new TypeError("the answer has no schedule");
  const n = s.counts;
  return {
    spec: specOf(s.spec), version: Number(s.version), status: word(ScheduleStatusSchema, s.status).toLowerCase() as Schedule["status"],
    createdBy: s.createdBy, createdAt: time(s.createdAt), updatedAt: time(s.updatedAt), nextAt: time(s.nextAt), queuedAt: time(s.queuedAt),
    last: s.last && outcomeOf(s.last), lastRunId: s.lastRunId,
    counts: { started: Number(n?.started ?? 0), missed: Number(n?.missed ?? 0), skipped: Number(n?.skipped ?? 0), refused: Number(n?.refused ?? 0) },
  };
}
