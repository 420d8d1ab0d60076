import type { TestProject } from "vitest/node";
import { startHost } from "./host.js";

declare module "vitest" {
  export interface ProvidedContext {
    control: string;
  }
}

/** One host for all tests; each case has a namespace and a proxy of its own. */
export default async function (project: TestProject): Promise<() => Promise<void>> {
  const host = await startHost();
  project.provide("control", host.control);
  return host.stop;
}
