import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { PolicyEnforcerService } from "../src/gen/interlock/policy/v1/policy_enforcer_service_pb.js";
import { Decision, DecisionCode } from "../src/gen/interlock/policy/v1/decision_pb.js";
import { ConfigurationError, Denied, Fault, Interlock, NotPermitted, ReportError, Result, Unavailable, reason } from "../src/index.js";
import { inMemory } from "./memory.js";

type Check = Parameters<Parameters<typeof inMemory>[0]>[0];

/** A gate that allows, but for what a test changes; it remembers what it was asked and told. */
function gate(changes: { check?: (asked: any) => any; report?: (told: any) => any } = {}, options = {}) {
  const asked: any[] = [];
  const told: any[] = [];
  const client = inMemory((router: Check) => {
    router.service(PolicyEnforcerService, {
      checkToolCall(request) {
        asked.push(request);
        return changes.check?.(request) ?? { decision: Decision.ALLOW, callId: request.callId, runId: "run_1" };
      },
      reportToolCall(request) {
        told.push(request);
        return changes.report?.(request) ?? { accounted: true };
      },
    });
  }, options);
  return { client, asked, told };
}

describe("guard", () => {
  test("the value comes back, and is what counts", async () => {
    const { client, told } = gate();
    const text = await client.guard("Read", { path: "a" }, () => "text");
    expect(text.value).toBe("text");
    const object = await client.guard("Read", {}, async () => ({ lines: 3n }));
    expect(object.value).toEqual({ lines: 3n });
    await client.guard("Read", {}, () => undefined);
    const full = await client.guard("Read", {}, () => new Result({ output: new Uint8Array([1, 2]), bytes: 9, filesChanged: ["f"], costUsd: "0.02", value: 7 }));
    expect(full.value).toBe(7);
    expect(told.map((one) => [Buffer.from(one.output).toString("latin1"), Number(one.resultBytes), one.ok, one.filesChanged, one.costUsd, one.runId])).toEqual([
      ["text", 4, true, [], "", "run_1"],
      ['{"lines":3}', 11, true, [], "", "run_1"],
      ["", 0, true, [], "", "run_1"],
      ["\x01\x02", 9, true, ["f"], "0.02", "run_1"],
    ]);
  });

  test("of a long output no more is sent than is kept", async () => {
    const { client, told } = gate();
    await client.guard("Read", {}, () => "é".repeat(70_000));
    expect([told[0].output.length, Number(told[0].resultBytes)]).toEqual([65_537, 140_000]);
  });

  test("a value that cannot be written as JSON does not lose the result", async () => {
    const { client, told } = gate();
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    expect((await client.guard("Read", {}, () => loop)).value).toBe(loop);
    expect(told).toHaveLength(1);
  });

  test("an input that is not JSON is denied before anyone is asked", async () => {
    const { client, asked } = gate();
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    for (const input of [loop, NaN, () => 0, Symbol("x")]) {
      const err = await client.guard("Read", input, () => "ran").catch((e: unknown) => e);
      expect(err).toBeInstanceOf(Denied);
      expect((err as Denied).code).toBe("INVALID_INPUT");
    }
    expect(asked).toHaveLength(0);
  });

  test.each([
    ["no decision", {}],
    ["an unknown decision", { decision: 77 }],
    ["an ALLOW of another call", { decision: Decision.ALLOW, callId: "call_x", runId: "run_1" }],
  ])("%s runs nothing", async (_, answer) => {
    const { client, told } = gate({ check: (asked) => ({ callId: asked.callId, ...answer }) });
    let ran = false;
    const err = await client.guard("Read", {}, () => (ran = true)).catch((e: unknown) => e);
    expect(err).toBeInstanceOf(Unavailable);
    expect(ran).toBe(false);
    await client.close();
    // The server may have allowed it.
    expect(told.map((one) => [one.ok, one.notExecuted])).toEqual([[false, true]]);
  });

  test("policies alone allow a call of a session that drives no run, and its session reports it", async () => {
    const { client, told } = gate({ check: (asked) => ({ decision: Decision.ALLOW, callId: asked.callId, runId: "" }) });
    expect((await client.guard("Read", {}, () => "text")).value).toBe("text");
    expect(told.map((one) => [one.runId, one.sessionId, one.ok])).toEqual([["", "agent", true]]);
    const err = await client.forSession("").guard("Read", {}, () => 0).catch((e: unknown) => e);
    expect(err).toBeInstanceOf(Unavailable);
  });

  test.each([Code.Internal, Code.Unknown, Code.PermissionDenied, Code.Unauthenticated, Code.NotFound, Code.ResourceExhausted, Code.DataLoss])(
    "code %i runs nothing, and is not repeated",
    async (code) => {
      const { client, asked } = gate({
        check: () => {
          throw new ConnectError("no", code);
        },
      });
      let ran = false;
      await expect(client.guard("Read", {}, () => (ran = true))).rejects.toBeInstanceOf(
        [Code.PermissionDenied, Code.Unauthenticated].includes(code) ? NotPermitted : code === Code.NotFound ? ConfigurationError : Unavailable,
      );
      expect([ran, asked.length]).toEqual([false, 1]);
    },
  );

  test("a transport that throws anything runs nothing", async () => {
    const broken = {
      unary: () => {
        throw "not even an error";
      },
      stream: () => Promise.reject(new Error("no")),
    };
    let ran = false;
    const client = new Interlock({ session: "agent", transport: broken as never });
    await expect(client.guard("Read", {}, () => (ran = true))).rejects.toBeInstanceOf(Unavailable);
    expect(ran).toBe(false);
  });

  test("a denial by the server without a decision is Unavailable too", async () => {
    const { client } = gate({ check: () => ({ decision: Decision.DENY, code: DecisionCode.POLICY_UNAVAILABLE, message: "why" }) });
    const err = await client.guard("Read", {}, () => 0).catch((e: unknown) => e);
    expect(err).toBeInstanceOf(Unavailable);
    expect((err as Error).message).toBe("why");
  });

  test("the call's id survives repeats, and each call has its own", async () => {
    let failures = 2;
    const { client, asked } = gate({
      check: () => {
        if (failures-- > 0) throw new ConnectError("away", Code.Unavailable);
        return undefined;
      },
    });
    await client.guard("Read", {}, () => 0);
    await client.guard("Read", {}, () => 0);
    const ids = asked.map((one) => one.callId as string);
    expect(ids).toHaveLength(4);
    expect(new Set(ids.slice(0, 3)).size).toBe(1);
    expect(ids[3]).not.toBe(ids[0]);
    expect(ids.every((id) => /^call_[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(id))).toBe(true);
  });

  test("when the run has moved on since a lost answer it is a new question", async () => {
    let first = true;
    const { client, asked } = gate({
      check: () => {
        if (!first) return undefined;
        first = false;
        throw new ConnectError("moved", Code.Aborted);
      },
    });
    await client.guard("Read", {}, () => 0);
    expect(new Set(asked.map((one) => one.callId)).size).toBe(2);
  });

  test("a caller's own id is never replaced", async () => {
    const { client, asked } = gate({
      check: () => {
        throw new ConnectError("moved", Code.Aborted);
      },
    });
    const err = await client.check("Read", {}, { callId: "mine" }).catch((e: unknown) => e);
    expect(reason(err)).toBe("VERSION_CONFLICT");
    expect(asked.map((one) => one.callId)).toEqual(["mine"]);
  });

  test("a caller that goes away before the decision runs nothing, and the call is reported", async () => {
    const gone = new AbortController();
    const { client, told } = gate({
      check: () => {
        queueMicrotask(() => gone.abort());
        return undefined;
      },
    });
    let ran = false;
    const err = await client.guard("Read", {}, () => (ran = true), { signal: gone.signal }).catch((e: unknown) => e);
    expect(err).toBeInstanceOf(Unavailable);
    expect(reason(err)).toBe("CANCELLED");
    expect(ran).toBe(false);
    expect(told.every((one) => !one.ok)).toBe(true);
  });

  test("what has run is reported though its caller has gone away", async () => {
    const gone = new AbortController();
    const { client, told } = gate();
    const result = await client.guard(
      "Read",
      {},
      () => {
        gone.abort();
        return "text";
      },
      { signal: gone.signal },
    );
    expect([result.value, told.length, told[0].ok]).toEqual(["text", 1, true]);
  });

  test("a refused report has the result; a failed tool's own error comes first", async () => {
    const warned: string[] = [];
    const { client, told } = gate(
      {
        report: () => {
          throw new ConnectError("no", Code.Internal);
        },
      },
      { onWarning: (message: string) => warned.push(message) },
    );
    const err = await client.guard("Read", {}, () => "text").catch((e: unknown) => e);
    expect(err).toBeInstanceOf(ReportError);
    expect((err as ReportError).result).toMatchObject({ output: "text", value: "text" });
    expect((err as ReportError).cause).toBeInstanceOf(Fault);
    await expect(client.guard("Read", {}, () => Promise.reject(new RangeError("mine")))).rejects.toBeInstanceOf(RangeError);
    expect(warned).toEqual(["the failure of a tool call was not reported: Read"]);
    expect(told.map((one) => one.ok)).toEqual([true, false]);
  });

  test("a notice is an interrupt and a warning", async () => {
    const { client } = gate({ report: () => ({ interrupt: { notice: "[INTERLOCK INTERRUPT] a" }, warning: "b" }) });
    expect((await client.guard("Read", {}, () => 0)).notice).toBe("[INTERLOCK INTERRUPT] a\nb");
  });

  test("a dry run admits nothing", async () => {
    const { client, asked } = gate();
    await expect(client.guard("Read", {}, () => 0, { dryRun: true })).rejects.toBeInstanceOf(Denied);
    expect(asked).toHaveLength(0);
  });

  test("the run is judged by when there is one, else the session", async () => {
    const { client, asked } = gate();
    await client.forRun("run_9").check("Read");
    await client.forSession("other").check("Read");
    expect(asked.map((one) => [one.runId, one.sessionId])).toEqual([
      ["run_9", ""],
      ["", "other"],
    ]);
  });
});
