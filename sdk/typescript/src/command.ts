import { execFile } from "node:child_process";
import type { Decision } from "./types.js";

/** How `guardCommand` gets a jail. */
export interface JailOptions {
  /** Interlock's program: a path, or a name in PATH; "interlock" by default. */
  program?: string;
  /** The level of the jails, 0 for none to 3. Without it, the program is asked once for this machine's level. */
  level?: 0 | 1 | 2 | 3;
}

/** The rules that the kernel enforces on an allowed command. */
export interface Jail {
  /** The least level that enforces the profile. */
  readonly level: number;
  /** Digest of the profile, sha256:... */
  readonly digest: string;
}

/** A command line that may be executed once. */
export interface Command {
  /**
   * The program and its arguments, to be executed as they are, in the folder that the call names. With a jail it is Interlock's
   * program, which claims the call and runs its line in the jail. It finds the server as `interlock hook` does.
   */
  readonly argv: readonly [string, ...string[]];
  /** For the `report` of the outcome. The witness of a jail determines the outcome of its command, not the report. */
  readonly decision: Decision;
  /** undefined where the line runs without a jail. */
  readonly jail: Jail | undefined;
}

/** The command line that has these words. */
export function commandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/** The command that runs a decided line. */
export function commandOf(line: string, decision: Decision, program: string): Command {
  const { jail, callId, runId } = decision;
  if (!jail) return { argv: ["/bin/bash", "--noprofile", "--norc", "-c", line], decision, jail };
  return { argv: [program, "jail", "--run", runId, "--call", callId, "--", line], decision, jail };
}

/** Knows the level of this machine's jails. */
export class Jails {
  readonly program: string;
  private found: Promise<number> | undefined;
  constructor(private readonly options: JailOptions = {}) {
    this.program = options.program ?? "interlock";
  }

  level(): Promise<number> {
    return (this.found ??= this.options.level === undefined ? probe(this.program) : Promise.resolve(this.options.level));
  }
}

/** Milliseconds that a probe may take. */
const probeMs = 10_000;

/** Asks Interlock's program for the level of this machine's jails; 0 if there is no answer. */
function probe(program: string): Promise<number> {
  return new Promise((resolve) => {
    execFile(program, ["jail", "probe", "--json"], { timeout: probeMs }, (err, out) => resolve(err ? 0 : levelOf(out)));
  });
}

/** Reads the answer of a probe. */
export function levelOf(out: string): number {
  try {
    const { level } = JSON.parse(out) as { level?: unknown };
    return typeof level === "number" && Number.isInteger(level) ? Math.max(0, Math.min(level, 3)) : 0;
  } catch {
    return 0;
  }
}
