/** The host of services/e2e/sdkhost: `interlock up` behind proxies that make faults. */
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { stringify } from "../src/json.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));

export interface Started {
  control: string;
  stop(): Promise<void>;
}

/** Starts the host; `make test-sdk-ts` builds it. */
export async function startHost(): Promise<Started> {
  const bin = process.env["INTERLOCK_BIN"] ?? join(root, "bin");
  const child: ChildProcess = spawn(join(bin, "sdkhost"), ["-interlock", join(bin, "interlock")], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const control = await new Promise<string>((resolve, reject) => {
    child.once("error", (err) => reject(new Error("start bin/sdkhost: run `make test-sdk-ts`, which builds it", { cause: err })));
    void ended.then(() => reject(new Error("sdkhost has ended")));
    createInterface({ input: child.stdout! }).once("line", (line) => resolve((JSON.parse(line) as { control: string }).control));
  });
  return {
    control,
    stop: async () => {
      child.stdin!.end();
      await ended;
    },
  };
}

export interface Fault {
  rpc: string;
  do: string;
  times?: number;
  fields?: unknown;
  messages?: number;
}

/** One RPC as the proxy saw it. */
export interface Attempt {
  rpc: string;
  key: string;
  tool?: string;
  ok?: boolean;
  /** In protobuf's JSON, under the names of the contract. */
  request?: Record<string, any>;
  /** A fault has left it without an answer. */
  hangs?: boolean;
  answered?: boolean;
}

export interface Definitions {
  workflows?: unknown[];
  policies?: unknown[];
  /** Policies that judge nobody until they are attached. */
  attachable?: unknown[];
  schemas?: Record<string, unknown>;
}

/** One case at the host. */
export class Case {
  private constructor(
    private readonly base: string,
    readonly server: string,
    readonly namespace: string,
    /** A namespace that no other case uses. */
    readonly other: string,
    readonly token: string,
    /** Tokens of people, by their role. */
    readonly roles: Readonly<Record<string, string>>,
  ) {}

  static async begin(control: string, definitions: Definitions): Promise<Case> {
    const made = (await request("POST", control + "/cases", definitions)) as Record<"id" | "server" | "namespace" | "other" | "token" | "operator_token" | "approver_token", string>;
    const roles = { operator: made.operator_token, approver: made.approver_token };
    return new Case(`${control}/cases/${made.id}`, made.server, made.namespace, made.other, made.token, roles);
  }

  faults(faults: Fault[]): Promise<unknown> {
    return request("POST", this.base + "/faults", faults);
  }
  clearFaults(): Promise<unknown> {
    return request("DELETE", this.base + "/faults");
  }
  down(): Promise<unknown> {
    return request("POST", this.base + "/down");
  }
  up(): Promise<unknown> {
    return request("POST", this.base + "/up");
  }
  human(vote: { approval?: string; approve: boolean; note?: string }): Promise<unknown> {
    return request("POST", this.base + "/human", vote);
  }
  /** A token of a person, of the deployment's OpenID Connect issuer. */
  person(person: unknown): Promise<unknown> {
    return request("POST", this.base + "/person", person);
  }
  traffic(): Promise<unknown> {
    return request("GET", this.base + "/traffic");
  }
  attempts(): Promise<Attempt[]> {
    return request("GET", this.base + "/attempts") as Promise<Attempt[]>;
  }
  record(): Promise<any> {
    return request("GET", this.base + "/record");
  }
  end(): Promise<unknown> {
    return request("DELETE", this.base);
  }
}

async function request(method: string, url: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(url, { method, ...(body !== undefined && { body: stringify(body) }) });
  if (!answer.ok) throw new Error(`${method} ${url}: ${await answer.text()}`);
  return answer.json();
}
