/**
 * Carries an adapter into all that a judged call begins: frameworks let a tool begin agents, runners and graphs of its own, and the
 * application that gates the first agent does not see those.
 */
import { AsyncLocalStorage } from "node:async_hooks";

/** An adapter that holds for everything that a function begins, also for work that goes on when the function has returned. */
export class Inherited<T extends object> {
  private readonly storage = new AsyncLocalStorage<T | undefined>();

  /** Returns the adapter that holds here. */
  get current(): T | undefined {
    return this.storage.getStore();
  }

  /** Calls a function in which `adapter` holds, or none. */
  run<R>(adapter: T | undefined, body: () => R): R {
    return this.storage.run(adapter, body);
  }
}

/**
 * Replaces a method where it is defined, on the object or in its prototype chain, once. The class is found by an object because a
 * process can have the framework twice, as ES modules and as CommonJS.
 */
export function replaceMethod(object: object, name: string, mark: symbol, make: (original: (...args: any[]) => any) => (...args: any[]) => any): void {
  let owner: object | null = object;
  while (owner && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner) as object | null;
  const property = owner && Object.getOwnPropertyDescriptor(owner, name);
  if (!owner || typeof property?.value !== "function" || Object.hasOwn(property.value as object, mark)) return;
  const made = make(property.value as (...args: any[]) => any);
  Object.defineProperty(made, mark, { value: true });
  Object.defineProperty(owner, name, { ...property, value: made });
}

/** A copy with everything that an object has, symbols and class included. */
export function copy<T extends object>(value: T, changes: Partial<T>): T {
  const made = Object.create(Object.getPrototypeOf(value) as object, Object.getOwnPropertyDescriptors(value)) as T;
  for (const [name, change] of Object.entries(changes)) {
    Object.defineProperty(made, name, { value: change, writable: true, enumerable: true, configurable: true });
  }
  return made;
}

/** Shows a list with each element changed by `map`. Later elements of the list are shown so, too. */
export function mapped<T>(list: T[], map: (element: T) => T): T[] {
  return new Proxy(list, {
    get: (target, key, receiver) => (typeof key === "string" && /^\d+$/.test(key) && Object.hasOwn(target, key) ? map(target[Number(key)]!) : (Reflect.get(target, key, receiver) as unknown)),
  });
}

/** Ends with a function, or at once when `signal` is aborted: a cancelled run does not wait for its tools. */
export async function unlessAborted<T>(signal: AbortSignal | undefined, body: () => T | Promise<T>): Promise<T> {
  if (!signal) return body();
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener("abort", stop);
  });
  try {
    signal.throwIfAborted();
    return await Promise.race([body(), aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
