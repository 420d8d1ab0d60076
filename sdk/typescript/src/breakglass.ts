/**
 * Grants by which calls are made while no connection to Interlock can be made, and the spool in which they are written down first:
 * docs/breakglass.md has the format.
 */
import { createHash, createPublicKey, randomBytes, verify, type KeyObject } from "node:crypto";
import { open, readFile, rm, stat, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";

/** A grant, and the principal that the client's token is for. Without a grant no call passes while the server is away. */
export interface BreakGlassOptions {
  /** The file with the signed grant. */
  grant: string;
  /** The file with the public key; the grant's with `.pub` by default. */
  key?: string;
  /** The file in which calls are written down; the grant's with `.spool` by default. `interlock breakglass hand-in` hands it in. */
  spool?: string;
  /** Name of the principal that the token is for. */
  principal: string;
}

/** A call of a tool. */
export interface GlassCall {
  /** The full name, where it is known. */
  readonly tool: string;
  /** The JSON of its input; empty for none. */
  readonly input: string;
  readonly session: string;
  readonly run: string;
}

interface Claims {
  jti: string;
  aud: string;
  sub: string;
  tools: string[];
  commands?: string[];
  iat: number;
  exp: number;
}

interface Entry {
  grant: string;
  spool: string;
  seq: number;
  kind: string;
  tool: string;
  command?: string;
}

const mostGrant = 16 * 1024;
const mostInput = 16 * 1024;
const mostSpool = 1024 * 1024;
const mostLines = 4000;
const longestSeconds = 86_400;
const lockMs = 2_000;

/** A grant that a client may use now, with its spool. */
export class Glass {
  private constructor(
    private readonly claims: Claims,
    private readonly spool: string,
  ) {}

  /** Id of the grant. */
  get id(): string {
    return this.claims.jti;
  }

  /** Reads the grant of a client. Throws unless it may be used now. */
  static async open(options: BreakGlassOptions, namespace: string): Promise<Glass> {
    const key = publicKey(await guarded(options.key || options.grant + ".pub"));
    const claims = read((await guarded(options.grant)).replace(/[ \t\r\n]+$/, ""), key);
    const now = Date.now() / 1000;
    if (claims.aud !== (namespace || "default")) throw new Error(`the break-glass grant is for namespace "${claims.aud}"`);
    if (claims.sub !== options.principal) throw new Error(`the break-glass grant is for principal "${claims.sub}", and the client is "${options.principal}": set INTERLOCK_PRINCIPAL`);
    if (claims.iat > now + 60) throw new Error("the break-glass grant begins later: check the clock of this machine");
    if (claims.exp <= now) throw new Error(`the break-glass grant ended at ${new Date(claims.exp * 1000).toISOString()}`);
    return new Glass(claims, options.spool || options.grant + ".spool");
  }

  /** Writes down that a call is made now, while Interlock cannot be reached. When it throws, the call must not be made. */
  async use(call: GlassCall): Promise<void> {
    const command = this.lets(call);
    if (command === undefined) throw new Error("the break-glass grant names other tools or commands");
    if (call.input !== "") JSON.parse(call.input); // it stands in the entry as it is
    const long = Buffer.byteLength(call.input) > mostInput;
    await this.change(call, command, (entries) => {
      if (refused(entries, call.tool, command)) throw new Error("Interlock has denied the call, or asked people about it, while it could be reached");
      const given = call.input === "" ? "" : long ? `,"input_sha256":${JSON.stringify(sha256(call.input))}` : `,"input":${call.input}`;
      return { kind: "use", given };
    });
  }

  /** Writes down that Interlock has denied a call, or asked people about it, so that the grant does not let it pass later. */
  async deny(call: GlassCall): Promise<void> {
    const command = this.lets(call);
    if (command === undefined) return;
    await this.change(call, command, (entries) => (refused(entries, call.tool, command) ? undefined : { kind: "refused", given: "" }));
  }

  /** The command of a call that the grant lets pass, empty where it names none; undefined for another call. */
  private lets(call: GlassCall): string | undefined {
    const { tools, commands } = this.claims;
    const named = tools.some((one) => one === call.tool || (one.endsWith("*") && call.tool.startsWith(one.slice(0, -1))));
    if (!named) return undefined;
    if (!commands) return "";
    try {
      const command = members(call.input)["command"];
      return typeof command === "string" && commands.includes(command) ? command : undefined;
    } catch {
      return undefined;
    }
  }

  /** Appends the line that `decide` returns, durably; nothing for undefined. */
  private async change(call: GlassCall, command: string, decide: (entries: Entry[]) => { kind: string; given: string } | undefined): Promise<void> {
    const unlock = await lock(this.spool + ".lock");
    try {
      const text = await readFile(this.spool, "utf8").catch((err: NodeJS.ErrnoException) => {
        if (err.code === "ENOENT") return "";
        throw err;
      });
      const { entries, head } = entriesOf(this.id, text);
      const made = decide(entries);
      if (!made) return;
      const entry = {
        grant: this.id, spool: entries[0]?.spool ?? randomBytes(16).toString("hex"), seq: entries.length + 1, time: new Date().toISOString(),
        kind: made.kind, tool: call.tool, ...(command !== "" && { command }), ...(call.session && { session: call.session }),
        ...(call.run && { run: call.run }), client: "typescript",
      };
      const written = JSON.stringify(entry).slice(0, -1) + made.given + "}";
      const line = JSON.stringify({ prev: head, hash: sha256(head + "\n" + written), entry: written }) + "\n";
      if (entries.length >= mostLines || Buffer.byteLength(text) + Buffer.byteLength(line) > mostSpool) throw new Error(`the spool ${this.spool} is full: hand it in, put it aside, and ask for another grant`);
      await append(this.spool, line, text === "");
    } finally {
      await unlock();
    }
  }
}

/** The entries of a spool, whose chain must hold, and the hash that the next line follows. */
function entriesOf(grant: string, text: string): { entries: Entry[]; head: string } {
  let head = sha256(grant);
  if (text === "") return { entries: [], head };
  if (!text.endsWith("\n")) throw new Error("the last line of the spool has no end: hand it in, put it aside, and ask for another grant");
  const entries = text.slice(0, -1).split("\n").map((line, i) => {
    const altered = new Error(`line ${i + 1} of the spool was altered: hand it in, put it aside, and ask for another grant`);
    const { prev, hash, entry } = members(line) as Record<string, string>;
    if (typeof prev !== "string" || typeof entry !== "string" || prev !== head || hash !== sha256(prev + "\n" + entry)) throw altered;
    head = hash;
    return members(entry) as unknown as Entry;
  });
  const wrong = entries.findIndex((one, i) => one.grant !== grant || one.seq !== i + 1 || one.spool !== entries[0]!.spool);
  if (wrong >= 0) throw new Error(`line ${wrong + 1} of the spool is of another spool`);
  return { entries, head };
}

function refused(entries: readonly Entry[], tool: string, command: string): boolean {
  return entries.some((one) => one.kind === "refused" && one.tool === tool && (one.command ?? "") === command);
}

/** The claims of a token that a key has signed. */
function read(token: string, key: KeyObject): Claims {
  const wrong = (why: string): Error => new Error(`the break-glass grant ${why}`);
  const parts = token.split(".");
  if (token.length > mostGrant || parts.length !== 3) throw wrong("is no signed grant");
  const [head, body, signature] = parts.map((part) => {
    const bytes = Buffer.from(part, "base64url");
    if (bytes.toString("base64url") !== part) throw wrong("is not base64url without padding");
    return bytes;
  }) as [Buffer, Buffer, Buffer];
  const kid = sha256(Buffer.from(key.export({ format: "jwk" }).x!, "base64url"));
  const expected: Record<string, unknown> = { alg: "EdDSA", typ: "interlock-breakglass+jwt", kid };
  const header = members(text(head));
  if (Object.keys(header).length !== 3 || Object.entries(expected).some(([name, value]) => header[name] !== value)) throw wrong("is of another kind, or of another key");
  if (signature.length !== 64 || !verify(null, Buffer.from(`${parts[0]}.${parts[1]}`), key, signature)) throw wrong("is not signed by this key");
  const claims = members(text(body));
  const named = (value: unknown): value is string[] => Array.isArray(value) && value.length >= 1 && value.length <= 32 && value.every((one) => typeof one === "string" && one !== "");
  for (const [name, value] of Object.entries(claims)) {
    const ok = ["iat", "exp"].includes(name) ? Number.isSafeInteger(value)
      : ["tools", "commands"].includes(name) ? named(value)
      : ["jti", "iss", "aud", "sub", "reason", "by", "confirmed_by"].includes(name) && typeof value === "string" && value !== "";
    if (!ok) throw wrong(`has a wrong claim "${name}"`);
  }
  const missing = ["jti", "iss", "aud", "sub", "tools", "iat", "exp", "reason", "by"].find((name) => claims[name] === undefined);
  if (missing !== undefined || claims["iss"] !== "interlock") throw wrong(`has no right claim "${missing ?? "iss"}"`);
  const { tools, iat, exp } = claims as unknown as Claims;
  if (tools.some((one) => one.replace(/\*$/, "") === "" || one.slice(0, -1).includes("*"))) throw wrong("names a tool by a pattern that is too wide");
  if (exp <= iat || exp - iat > longestSeconds) throw wrong("lasts for more than 24 hours");
  return claims as unknown as Claims;
}

function text(bytes: Buffer): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

/** The members of a JSON object, which has none twice. */
function members(json: string): Record<string, unknown> {
  const value: unknown = JSON.parse(json);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("it is not a JSON object");
  const names = new Set<string>();
  let depth = 0;
  let last = "";
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (token === ":" && depth === 1) {
      const name = JSON.parse(last) as string;
      if (names.has(name)) throw new Error(`it has the member "${name}" twice`);
      names.add(name);
    } else last = token;
  }
  return value as Record<string, unknown>;
}

function publicKey(pem: string): KeyObject {
  if (!/^-----BEGIN PUBLIC KEY-----\s/.test(pem)) throw new Error("the key of the break-glass grant is no public key in PEM");
  const key = createPublicKey(pem);
  if (key.asymmetricKeyType !== "ed25519") throw new Error("the key of the break-glass grant is no Ed25519 key");
  return key;
}

/** A file that others cannot write. */
async function guarded(file: string): Promise<string> {
  const { mode, size } = await stat(file);
  if (process.platform !== "win32" && (mode & 0o022) !== 0) throw new Error(`others can write ${file}, so it does not count; run chmod go-w ${file}`);
  if (size > mostGrant + 2) throw new Error(`${file} is too long`);
  return readFile(file, "utf8");
}

/** Creates a file that only one client has, and returns how to remove it. */
async function lock(file: string): Promise<() => Promise<void>> {
  for (const until = performance.now() + lockMs; ; ) {
    try {
      await (await open(file, "wx", 0o600)).close();
      return () => rm(file);
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== "EEXIST") throw err;
      if (performance.now() > until) throw new Error(`another client holds the spool; if none is running, remove ${file}`, { cause: err });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

async function append(file: string, line: string, fresh: boolean): Promise<void> {
  await synced(await open(file, "a", 0o600), line);
  if (fresh && process.platform !== "win32") await synced(await open(dirname(file), "r"), "");
}

async function synced(handle: FileHandle, line: string): Promise<void> {
  try {
    if (line !== "") await handle.appendFile(line);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function sha256(of: string | Buffer): string {
  return createHash("sha256").update(of).digest("hex");
}
