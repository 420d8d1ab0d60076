import { readFileSync } from "node:fs";
import { createServer as createHttp2, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import { StringValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ConfigurationError, Interlock, JsonText, add, copy, move, parse, remove, replace, stringify, test as testOp } from "../src/index.js";
import { faultOf, misconfigured, reason, transient } from "../src/errors.js";
import { callId, encode } from "../src/ids.js";
import { rewrite } from "../src/json.js";
import { Deadline, delay, retry, yieldMs } from "../src/retry.js";
import { fromEnvironment, isLoopback } from "../src/target.js";
import { inMemory } from "./memory.js";

describe("ids", () => {
  test.each([
    ["00000000000000000000000000000000", "00000000000000000000000000"],
    ["0000000000000000000000000000000a", "0000000000000000000000000a"],
    ["00000000000000000000000000000020", "00000000000000000000000010"],
    ["ffffffffffffffffffffffffffffffff", "7zzzzzzzzzzzzzzzzzzzzzzzzz"],
    ["0110c8531d0952d8d73e1194e95b5f19", "0123456789abcdefghjkmnpqrs"],
    ["01890a5dac96774bbcceb302099a8057", "01h455vb4pex5vsknk084sn02q"],
  ])("the TypeID specification's %s", (uuid, want) => {
    expect(encode(Buffer.from(uuid, "hex"))).toBe(want);
  });

  test("sort by time", () => {
    expect(callId(1_700_000_000_000) < callId(1_700_000_000_001)).toBe(true);
  });
});

describe("json", () => {
  test.each(["null", "true", "-1", "1.5e3", '"a\\u0000\\"é"', "[]", "{}", '[1,[2,{"a":[null]}]]', '{"__proto__":{"a":1},"":2}'])("%s as JSON.parse", (text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
    expect(JSON.parse(stringify(parse(text)))).toEqual(JSON.parse(text));
  });

  test.each(["", "{", "[1,]", '{"a":1,}', "01", "1.", "+1", "NaN", "'a'", '"\n"', "[1] x", "{a:1}", "tru", '"a', "[".repeat(2000)])("%s is refused", (text) => {
    expect(() => parse(text)).toThrow(SyntaxError);
  });

  test("integers that a double cannot hold stay exact", () => {
    expect(parse("[9007199254740993, -9223372036854775808, 9007199254740991]")).toEqual([9007199254740993n, -9223372036854775808n, 9007199254740991]);
    expect(stringify({ n: 18446744073709551615n })).toBe('{"n":18446744073709551615}');
  });

  test("what is not changed is written as it was", () => {
    const text = '{"a":1.10,"b":[0.1000000000000000055,9007199254740993],"c":1e2,"n":0}';
    expect(rewrite(text, (doc: any) => void doc.n++)).toBe('{"a":1.10,"b":[0.1000000000000000055,9007199254740993],"c":1e2,"n":1}');
    expect(rewrite(text, () => ({ a: 2 }))).toBe('{"a":2}');
    expect(() => rewrite(text, () => NaN)).toThrow(TypeError);
  });

  test("as JSON.stringify, but for what is not JSON", () => {
    const value = { a: undefined, b: [undefined, () => 0], c: new Date(0), d: { toJSON: () => [1] } };
    expect(stringify(value)).toBe(JSON.stringify(value));
    expect(stringify({ raw: new JsonText("1.50") })).toBe('{"raw":1.50}');
    const shared = { x: 1 };
    expect(stringify([shared, shared])).toBe('[{"x":1},{"x":1}]');
    for (const bad of [NaN, Infinity, undefined, () => 0]) expect(() => stringify(bad)).toThrow(TypeError);
  });

  test("operations are written as RFC 6902 has them", () => {
    expect(JSON.parse(stringify([add("/a", 1), replace("/b", null), remove("/c"), testOp("/d", [2]), move("/e", "/f"), copy("/g", "/h")]))).toEqual([
      { op: "add", path: "/a", value: 1 },
      { op: "replace", path: "/b", value: null },
      { op: "remove", path: "/c" },
      { op: "test", path: "/d", value: [2] },
      { op: "move", from: "/e", path: "/f" },
      { op: "copy", from: "/g", path: "/h" },
    ]);
  });
});

describe("where a client connects", () => {
  test.each([
    ["127.0.0.1:7421", true], ["127.1.2.3:1", true], ["localhost:7421", true], ["[::1]:7421", true], ["unix:///run/x.sock", true],
    ["unix:x.sock", true], ["dns:///127.0.0.1:1", true], ["engine:7421", false], ["10.0.0.1:7421", false], ["dns:///engine:7421", false],
    ["0.0.0.0:1", false], ["localhost.example.com:1", false], ["dns://127.0.0.1/engine:1", false], ["[::]:1", false], ["127.0.0.1.example.com:1", false],
  ])("%s is loopback: %s", (server, loopback) => {
    expect(isLoopback(server)).toBe(loopback);
    const make = () => new Interlock({ server }).close();
    if (loopback) expect(make).not.toThrow();
    else expect(make).toThrow(/plaintext/);
  });

  test("other machines with TLS, or where the network is trusted", () => {
    new Interlock({ server: "engine:7421", tls: {} }).close();
    new Interlock({ server: "engine:7421", insecure: true }).close();
    new Interlock({ server: "127.0.0.1:1,127.0.0.1:2" }).close();
    expect(() => new Interlock({ server: "127.0.0.1:1,engine:2" })).toThrow(/plaintext/);
    expect(() => new Interlock({ server: "" })).toThrow(/no server/);
    expect(() => new Interlock({ timeoutMs: 0 })).toThrow(/timeoutMs/);
  });

  test("the environment is the command line's", () => {
    expect(fromEnvironment({})).toEqual({
      server: "127.0.0.1:7421", insecure: false, tls: undefined, token: "", namespace: "", session: "", run: "", state: "",
    });
    expect(
      fromEnvironment({
        INTERLOCK_SERVER: "a:1", INTERLOCK_TOKEN: "t", INTERLOCK_NAMESPACE: "n", INTERLOCK_CA: "ca.pem", INTERLOCK_INSECURE: "TRUE",
        INTERLOCK_SESSION: "s", INTERLOCK_RUN: "r", WORKFLOW_STATE_ID: "w",
      }),
    ).toEqual({ server: "a:1", insecure: true, tls: { ca: "ca.pem" }, token: "t", namespace: "n", session: "s", run: "r", state: "w" });
    expect(() => fromEnvironment({ INTERLOCK_SERVER: "http://a:1" })).toThrow(/HTTP address/);
    expect(() => fromEnvironment({ INTERLOCK_INSECURE: "yes" })).toThrow(/true or false/);
    const client = Interlock.fromEnv({ session: "mine" }, { INTERLOCK_SESSION: "s", INTERLOCK_RUN: "r" });
    expect([client.session, client.run]).toEqual(["mine", "r"]);
    client.close();
  });
});

describe("repeats", () => {
  test("what is transient is repeated until time is up", async () => {
    let tries = 0;
    const call = () => {
      if (++tries < 4) throw new ConnectError("away", Code.Unavailable);
      return Promise.resolve(tries);
    };
    expect(await retry(new Deadline(30_000, undefined), call)).toBe(4);
    tries = -1e9;
    const err = await retry(new Deadline(200, undefined), call).catch((e: unknown) => e);
    expect(reason(err)).toBe("UNAVAILABLE");
  });

  test("an aborted call is CANCELLED, an aborted time-out DEADLINE_EXCEEDED", async () => {
    const never = () => Promise.reject(new ConnectError("away", Code.Unavailable));
    const gone = await retry(new Deadline(30_000, AbortSignal.abort()), never).catch((e: unknown) => e);
    expect(reason(gone)).toBe("CANCELLED");
    const late = await retry(new Deadline(30_000, AbortSignal.timeout(50)), never).catch((e: unknown) => e);
    expect(reason(late)).toBe("DEADLINE_EXCEEDED");
  });

  test("waits grow, and are short at first whatever is advised", () => {
    for (let i = 0; i < 50; i++) {
      expect(delay(1, 60_000)).toBeLessThanOrEqual(50);
      expect(delay(3, 60_000)).toBe(60_000);
      expect(delay(30, 0)).toBeLessThanOrEqual(5000);
      expect(delay(30, 0)).toBeGreaterThanOrEqual(2500);
      expect(yieldMs(0)).toBe(0);
      expect(yieldMs(99)).toBeLessThanOrEqual(256);
    }
  });
});

describe("faults", () => {
  test("details of a status are read", () => {
    const err = new ConnectError("no change was made", Code.InvalidArgument);
    err.isWireError = true;
    const bytes = (...parts: (string | number[])[]) => Buffer.concat(parts.map((p) => (typeof p === "string" ? Buffer.from(p) : Buffer.from(p))));
    const field = (n: number, value: Uint8Array | string) => bytes([(n << 3) | 2, value.length], ...(typeof value === "string" ? [value] : [[...value]]));
    err.details = [
      { type: "google.rpc.ErrorInfo", value: bytes([...field(1, "SCHEMA_VIOLATION")], [...field(2, "interlock")], [...field(3, bytes([...field(1, "k")], [...field(2, "v")]))]) },
      { type: "google.rpc.BadRequest", value: field(1, bytes([...field(1, "/n")], [...field(2, "must be")], [...field(3, "TYPE")])) },
      { type: "google.rpc.RetryInfo", value: field(1, Buffer.from([0x08, 0x02])) },
      { type: "google.rpc.Nonsense", value: toBinary(StringValueSchema, create(StringValueSchema, { value: "x" })) },
    ];
    expect(faultOf(err)).toMatchObject({
      reason: "SCHEMA_VIOLATION", message: "no change was made", metadata: { k: "v" }, retryAfterMs: 2000,
      violations: [{ pointer: "/n", code: "TYPE", message: "must be" }],
    });
    err.details = [{ type: "google.rpc.ErrorInfo", value: bytes([...field(1, "NEW_REASON")], [...field(2, "interlock")]) }];
    expect(faultOf(err)).toMatchObject({ reason: "INVALID_REQUEST", metadata: { peer_reason: "NEW_REASON" } });
    err.details = [{ type: "google.rpc.ErrorInfo", value: Buffer.from([0x0a, 0x7f]) }];
    expect(faultOf(err).reason).toBe("INVALID_REQUEST");
  });

  test("a lost connection is UNAVAILABLE, however Node says it", () => {
    const node = (code: string) => Object.assign(new Error("x"), { code });
    for (const code of ["ECONNRESET", "ECONNREFUSED", "EPIPE", "ERR_HTTP2_STREAM_ERROR", "ERR_STREAM_DESTROYED"]) {
      const err = ConnectError.from(node(code), Code.Aborted);
      err.cause = node(code);
      expect(faultOf(err).reason).toBe("UNAVAILABLE");
      expect(transient(faultOf(err))).toBe(true);
    }
    expect(faultOf(new TypeError("bug"))).toMatchObject({ reason: "INTERNAL", message: "bug" });
    expect(faultOf("text").reason).toBe("INTERNAL");
    expect(reason(undefined)).toBe("");
  });
});

test("a client of a run loads nothing", async () => {
  await expect(inMemory(() => undefined).forRun("run_1").load("w")).rejects.toMatchObject({ reason: "INVALID_REQUEST" });
  await expect(inMemory(() => undefined, { session: "" }).load("w", { branch: "b" })).rejects.toMatchObject({ reason: "SESSION_REQUIRED" });
});

describe("ping says how to mend the address", () => {
  const listening = async (server: Http2Server): Promise<string> => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  test("a server without TLS is called with TLS", async () => {
    const server = createHttp2();
    const client = new Interlock({ server: await listening(server), tls: {}, timeoutMs: 1000 });
    const err = await client.ping().catch((e: unknown) => e);
    await client.close();
    server.close();
    expect(err).toBeInstanceOf(ConfigurationError);
    expect(err).toMatchObject({ code: "TLS", retriable: false, message: expect.stringContaining("does not speak TLS") });
  });

  test("a server of HTTP is no server of gRPC", () => {
    const err = ConnectError.from(Object.assign(new Error("Protocol error"), { code: "ERR_HTTP2_ERROR" }), Code.Internal);
    err.cause = Object.assign(new Error("Protocol error"), { code: "ERR_HTTP2_ERROR" });
    expect(misconfigured(faultOf(err), "127.0.0.1:7420")).toContain("does not speak gRPC");
  });

  test("a name that is not known", async () => {
    const client = new Interlock({ server: "no-such-host.invalid:7421", insecure: true, timeoutMs: 1000 });
    const err = await client.ping().catch((e: unknown) => e);
    await client.close();
    expect(err).toMatchObject({ code: "TLS", message: expect.stringContaining("INTERLOCK_SERVER") });
  });

  test.each(["SELF_SIGNED_CERT_IN_CHAIN", "DEPTH_ZERO_SELF_SIGNED_CERT", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID"])(
    "a certificate that is refused: %s",
    (code) => {
      const err = ConnectError.from(Object.assign(new Error("x"), { code }), Code.Unavailable);
      err.cause = Object.assign(new Error("x"), { code });
      expect(misconfigured(faultOf(err), "engine:7421")).toContain("INTERLOCK_CA");
    },
  );
});

test("a client that is printed shows no token", () => {
  const client = new Interlock({ token: "secret-token" });
  expect(inspect(client, { depth: 9, showHidden: true })).not.toContain("secret-token");
  expect(JSON.stringify(client)).not.toContain("secret-token");
  void client.close();
});

test.each(["http://127.0.0.1:7420", "https://engine", "HTTP://x", "grpc://127.0.0.1:7421"])("the address %s is refused for its form", (server) => {
  expect(() => new Interlock({ server })).toThrow(ConfigurationError);
  expect(() => new Interlock({ server, tls: {} })).toThrow(/host and port/);
});

test("every reason of the server is known", () => {
  const ours = readFileSync(new URL("../src/errors.ts", import.meta.url), "utf8");
  const reasons = [...readFileSync(new URL("../../../pkg/fault/reason.go", import.meta.url), "utf8").matchAll(/Reason = "([A-Z_]+)"/g)].map((found) => found[1]!);
  expect(reasons.length).toBeGreaterThan(30);
  expect(reasons.filter((reason) => !new RegExp(`\\b${reason}\\b`).test(ours))).toEqual([]);
});
