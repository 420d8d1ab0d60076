import type { Json, JsonText } from "./json.js";

type Value = Json | JsonText;

/** One operation of a JSON Patch (RFC 6902). Paths are JSON Pointers (RFC 6901). */
export type Op =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: Value }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly from: string; readonly path: string };

/** Sets a member, or inserts an element: "/list/-" appends. */
export const add = (path: string, value: Value): Op => ({ op: "add", path, value });
/** Sets a value that must be there already. */
export const replace = (path: string, value: Value): Op => ({ op: "replace", path, value });
/** Removes a value that must be there. */
export const remove = (path: string): Op => ({ op: "remove", path });
/** Lets the whole patch fail unless the value at the path is this one. */
export const test = (path: string, value: Value): Op => ({ op: "test", path, value });
/** Moves the value at `from` to the path. */
export const move = (from: string, path: string): Op => ({ op: "move", from, path });
/** Copies the value at `from` to the path. */
export const copy = (from: string, path: string): Op => ({ op: "copy", from, path });
