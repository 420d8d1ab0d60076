import { textOf } from "./output.js";
import { Result, type Outcome, type Report } from "./types.js";

/** The items of a function that has not ended when it returns. */
export type Items = AsyncIterable<unknown> | Generator<unknown, unknown, undefined>;

/** The value of a guarded function: its items where it yields some, or else its result. */
export type Streamed<T> = T extends AsyncIterable<infer Item> ? Stream<Item> : T extends Generator<infer Item, unknown, never> ? Stream<Item> : T;

/** The most of the items that is kept as the output of the call. */
const mostKept = 64 * 1024 + 1;

/** Reports of a call whose function yields items. */
export interface Ending {
  ended(outcome: Outcome): Promise<Report>;
  failed(unknown: boolean): Promise<void>;
  unused(): Promise<void>;
}

/** Whether a function that returns this has not ended. Arrays, strings and the like are values. */
export function isStream(value: unknown): value is Items {
  if (typeof value !== "object" || value === null || value instanceof Result) return false;
  if (Symbol.asyncIterator in value) return true;
  return Symbol.iterator in value && typeof (value as { next?: unknown }).next === "function" && typeof (value as { return?: unknown }).return === "function";
}

/**
 * The items of a guarded call. The call is reported once: as ok when the items end, as failed when the function throws, and as failed
 * with an unknown outcome when the items are left early. `report` and `notice` are there after the end.
 */
export class Stream<Item> implements AsyncGenerator<Item, void, undefined> {
  private opened: Promise<Source<Item>> | undefined;
  private left = false;

  constructor(
    private readonly open: () => Promise<Source<Item>>,
    private source?: Source<Item>,
  ) {}

  /** The answer to the report; undefined before the end. */
  get report(): Report | undefined {
    return this.source?.report;
  }

  /** For the agent to read with the output; empty before the end. */
  get notice(): string {
    return this.report?.notice ?? "";
  }

  private async items(): Promise<Source<Item>> {
    return (this.source = await (this.opened ??= this.open()));
  }

  async next(): Promise<IteratorResult<Item, void>> {
    return this.left ? { done: true, value: undefined } : (await this.items()).next();
  }

  async return(): Promise<IteratorResult<Item, void>> {
    this.left = true;
    // One that was not opened was not judged.
    if (this.source || this.opened) await (await this.items()).return();
    return { done: true, value: undefined };
  }

  async throw(err: unknown): Promise<IteratorResult<Item, void>> {
    this.left = true;
    if (this.source || this.opened) return (await this.items()).throw(err);
    throw err;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** The source of the items of a stream. */
interface Source<Item> {
  readonly report: Report | undefined;
  next(): Promise<IteratorResult<Item, void>>;
  return(): Promise<IteratorResult<Item, void>>;
  throw(err: unknown): Promise<IteratorResult<Item, void>>;
}

/** The items of a call that was allowed. */
export class Guarded<Item> {
  /** The answer to the report; undefined before the end. */
  report: Report | undefined;
  private readonly items: AsyncIterator<Item> | Iterator<Item>;
  private state: "unused" | "open" | "over" = "unused";
  private readonly kept: string[] = [];
  private bytes = 0;

  constructor(
    items: Items,
    private readonly ending: Ending,
  ) {
    this.items = (Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()) as typeof this.items;
  }

  async next(): Promise<IteratorResult<Item, void>> {
    if (this.state === "over") return { done: true, value: undefined };
    this.state = "open";
    let step: IteratorResult<Item, unknown>;
    try {
      step = await this.items.next();
    } catch (err) {
      if (this.close()) await this.ending.failed(false);
      throw err;
    }
    if (step.done) {
      if (this.close()) this.report = await this.ending.ended({ output: this.kept.join(""), bytes: this.bytes });
      return { done: true, value: undefined };
    }
    this.keep(step.value);
    return { done: false, value: step.value };
  }

  async return(): Promise<IteratorResult<Item, void>> {
    const { state } = this;
    if (!this.close()) return { done: true, value: undefined };
    try {
      await this.items.return?.();
    } finally {
      await (state === "unused" ? this.ending.unused() : this.ending.failed(true));
    }
    return { done: true, value: undefined };
  }

  async throw(err: unknown): Promise<IteratorResult<Item, void>> {
    if (this.close()) {
      try {
        await this.items.throw?.(err);
      } catch {
        // The error of the caller is the one that continues.
      }
      await this.ending.failed(true);
    }
    throw err;
  }

  private close(): boolean {
    const first = this.state !== "over";
    this.state = "over";
    return first;
  }

  private keep(item: Item): void {
    const text = textOf(item);
    if (this.bytes < mostKept) this.kept.push(text);
    this.bytes += Buffer.byteLength(text);
  }
}
