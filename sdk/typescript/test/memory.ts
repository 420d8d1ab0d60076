/** Services in memory whose behaviour is the test's. */
import { createRouterTransport, type ConnectRouter } from "@connectrpc/connect";
import { Interlock, type Options } from "../src/index.js";

export function inMemory(routes: (router: ConnectRouter) => void, options: Options = {}): Interlock {
  return new Interlock({ session: "agent", ...options, transport: createRouterTransport(routes) });
}
