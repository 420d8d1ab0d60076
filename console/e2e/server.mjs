// A real `interlock up` for a test, on free ports and in a folder of its own.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const program = process.env.INTERLOCK;
if (!program) throw new Error("INTERLOCK must name the program; run this by `make console-test`");

/** Tries until a function gives something. */
export async function until(what, look, seconds = 120) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited ${seconds} s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A real Redis on a free port, that keeps what it acknowledges. */
export async function redis() {
  const data = mkdtempSync(join(tmpdir(), "interlock-redis-"));
  const socket = join(data, "redis.sock");
  const port = await freePort();
  const flags = ["--port", port, "--bind", "127.0.0.1", "--unixsocket", socket, "--save", "", "--appendonly", "yes"];
  const child = spawn("redis-server", [...flags, "--appendfsync", "always", "--dir", data].map(String), {
    stdio: "ignore",
  });
  await until("Redis", () => existsSync(socket));
  return {
    url: `redis://127.0.0.1:${port}/0`,
    end: async () => {
      child.kill();
      await once(child, "exit");
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** A port that nobody listens on. */
export async function freePort() {
  const listener = createServer();
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address();
  listener.close();
  await once(listener, "close");
  return port;
}

/** Starts a server, on a port if one is given. Its answer has url, tokens, link(), stop() and start(). */
export async function serve({ port = 0 } = {}, ...flags) {
  const data = mkdtempSync(join(tmpdir(), "interlock-console-"));
  const s = { data, flags, port };
  s.start = async () => {
    const ports = ["--http", `127.0.0.1:${s.port}`, "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0"];
    s.child = spawn(program, ["up", "--presence=none", "--data-dir", data, ...ports, ...flags], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let log = "";
    s.child.stderr.on("data", (d) => {
      log += d;
    });
    const read = (name) => {
      try {
        return JSON.parse(readFileSync(join(data, name), "utf8"));
      } catch {
        return undefined;
      }
    };
    const at = await until("the server", async () => {
      if (s.child.exitCode !== null) throw new Error(`interlock up ended: ${log}`);
      const endpoints = read("endpoints.json");
      const ready = endpoints?.http && (await fetch(`${endpoints.http}/readyz`).catch(() => undefined));
      return ready?.ok ? endpoints : undefined;
    });
    s.url = at.http;
    s.port = new URL(at.http).port; // the same after a restart
    s.tokens = read("local.json");
  };
  s.stop = async (signal = "SIGTERM") => {
    if (s.child.exitCode !== null || s.child.signalCode !== null) return;
    s.child.kill(signal);
    await once(s.child, "exit");
  };
  /** A link that logs in once: only a person at a terminal gets one, and script gives one. */
  s.link = () => {
    const command = `'${program}' console --data-dir '${data}'`;
    const text = execFileSync("script", ["-qec", command, "/dev/null"], { encoding: "utf8" });
    return text.trim().split(/\s/).at(-1);
  };
  s.end = async () => {
    await s.stop();
    rmSync(data, { recursive: true, force: true });
  };
  await s.start();
  return s;
}

/** A server whose people log in with keys of their own. Only a terminal gets the code of the first one: script gives one. */
export async function serveForPeople() {
  const data = mkdtempSync(join(tmpdir(), "interlock-people-"));
  const port = await freePort();
  const command = `exec '${program}' up --data-dir '${data}' --http 127.0.0.1:${port} --grpc 127.0.0.1:0 --nats 127.0.0.1:0`;
  const child = spawn("script", ["-qefc", command, "/dev/null"], { stdio: ["ignore", "pipe", "ignore"] });
  let log = "";
  child.stdout.on("data", (d) => {
    log += d;
  });
  const register = await until("the code", () => {
    if (child.exitCode !== null) throw new Error(`interlock up ended: ${log}`);
    return log.match(/http\S+#register=[A-Z0-9-]+/)?.[0];
  });
  const url = `http://localhost:${port}`;
  await until("the server", async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok);
  return {
    url,
    data,
    register,
    tokens: JSON.parse(readFileSync(join(data, "local.json"), "utf8")),
    end: async () => {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      rmSync(data, { recursive: true, force: true });
    },
  };
}
