import { readFileSync } from "node:fs";
import { connect as connectSocket, isIP } from "node:net";
import type { ClientSessionOptions, SecureClientSessionOptions } from "node:http2";
import { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { BreakGlassOptions } from "./breakglass.js";
import { ConfigurationError } from "./errors.js";

/** The default address of the gRPC services of `interlock up`. */
export const defaultServer = "127.0.0.1:7421";

/** Files of TLS, in PEM. Without a CA, those of Node are used. */
export interface TLS {
  ca?: string;
  /** The client's own certificate and key, for mTLS. */
  cert?: string;
  key?: string;
  serverName?: string;
}

/** The settings of a connection. */
export interface Target {
  server: string;
  tls?: TLS | undefined;
  insecure?: boolean | undefined;
}

/** A connection that can be closed. */
export interface Connection {
  readonly transport: Transport;
  close(): void;
}

/** The largest answer that is taken, in bytes: a page of history. */
const maxAnswer = 64 * 2 ** 20;

/** Connects when it is first used. Throws when the token would travel in plaintext, or when there is no address. */
export function dial(target: Target, interceptors: Interceptor[]): Connection {
  const form = /^(https?|grpcs?):\/\//i.exec(target.server);
  if (form) throw mistake(`the server is ${target.server}, ${form[0].startsWith("grpc") ? "a URL" : "an HTTP address"}: give the host and port of its gRPC services, such as ${defaultServer}`);
  const addresses = target.server.split(",").map((one) => one.trim()).filter((one) => one !== "");
  if (addresses.length === 0) {
    throw mistake(`no server; give its gRPC address, such as ${defaultServer}`);
  }
  if (!target.tls && !target.insecure && !addresses.every(isLoopback)) {
    throw mistake(`dial ${target.server}: without TLS the token and all data would be sent in plaintext: set tls (INTERLOCK_CA), or insecure where the network itself is trusted`);
  }
  const connections = addresses.map((address) => open(address, target.tls, interceptors));
  return {
    transport: connections.length === 1 ? connections[0]!.transport : inTurn(connections.map((c) => c.transport)),
    close: () => connections.forEach((c) => c.close()),
  };
}

function open(address: string, tls: TLS | undefined, interceptors: Interceptor[]): Connection {
  const path = socketPath(address);
  const authority = path === undefined ? address.replace(/^(dns|passthrough):\/\/\//, "").replace(/^dns:/, "") : "localhost";
  const baseUrl = `${tls ? "https" : "http"}://${authority}`;
  if (!URL.canParse(baseUrl)) throw mistake(`dial ${address}: it is not a gRPC address`);
  const nodeOptions: ClientSessionOptions & SecureClientSessionOptions = {};
  if (path !== undefined) nodeOptions.createConnection = () => connectSocket(path);
  if (tls?.ca) nodeOptions.ca = readFileSync(tls.ca);
  if (tls?.cert) nodeOptions.cert = readFileSync(tls.cert);
  if (tls?.key) nodeOptions.key = readFileSync(tls.key);
  if (tls?.serverName) nodeOptions.servername = tls.serverName;
  const sessionManager = new Http2SessionManager(baseUrl, { pingIntervalMs: 20_000, pingTimeoutMs: 10_000 }, nodeOptions);
  return {
    transport: createGrpcTransport({ baseUrl, sessionManager, interceptors, readMaxBytes: maxAnswer }),
    close: () => void sessionManager.abort(),
  };
}

/** Replicas: one is called until it cannot be reached, then the next. The caller repeats failed calls. */
function inTurn(transports: Transport[]): Transport {
  let at = 0;
  const noted = (used: number, err: unknown): never => {
    if (err instanceof ConnectError && err.code === Code.Unavailable && used === at) at = (at + 1) % transports.length;
    throw err;
  };
  return {
    unary: (...args) => {
      const used = at;
      return transports[used]!.unary(...args).catch((err: unknown) => noted(used, err));
    },
    stream: (...args) => {
      const used = at;
      return transports[used]!.stream(...args).catch((err: unknown) => noted(used, err));
    },
  };
}

/** A mistake of the configuration: no client is made. */
function mistake(message: string): ConfigurationError {
  return new ConfigurationError({ code: "ADDRESS", message });
}

function socketPath(address: string): string | undefined {
  if (!address.startsWith("unix:")) return undefined;
  return address.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
}

/** True when data for the address stays on the machine. */
export function isLoopback(address: string): boolean {
  if (address.startsWith("unix:")) return true;
  const target = address.replace(/^(dns|passthrough):\/\/\//, "").replace(/^dns:/, "");
  const host = /^\[(.*)\](:\d+)?$/.exec(target)?.[1] ?? target.replace(/:\d+$/, "");
  return host === "localhost" || (isIP(host) === 4 && host.startsWith("127.")) || host === "::1";
}

/** Reads the settings from an environment, by the names that the command line reads. */
export function fromEnvironment(env: Readonly<Record<string, string | undefined>>): Target & {
  token: string;
  namespace: string;
  session: string;
  run: string;
  state: string;
  breakGlass: BreakGlassOptions | undefined;
} {
  const server = env["INTERLOCK_SERVER"] || defaultServer;
  if (/^https?:\/\//.test(server)) {
    throw mistake(
      `INTERLOCK_SERVER is ${server}, an HTTP address: give the address of its gRPC services, such as ${defaultServer}`,
    );
  }
  const insecure = env["INTERLOCK_INSECURE"] || "false";
  if (!/^(1|t|true|0|f|false)$/i.test(insecure)) {
    throw mistake(`INTERLOCK_INSECURE is "${insecure}": give true or false`);
  }
  const ca = env["INTERLOCK_CA"];
  return {
    server,
    insecure: /^(1|t|true)$/i.test(insecure),
    tls: ca ? { ca } : undefined,
    token: env["INTERLOCK_TOKEN"] ?? "",
    namespace: env["INTERLOCK_NAMESPACE"] ?? "",
    session: env["INTERLOCK_SESSION"] ?? "",
    run: env["INTERLOCK_RUN"] ?? "",
    state: env["WORKFLOW_STATE_ID"] ?? "",
    breakGlass: env["INTERLOCK_BREAKGLASS"]
      ? { grant: env["INTERLOCK_BREAKGLASS"], key: env["INTERLOCK_BREAKGLASS_KEY"] ?? "", spool: env["INTERLOCK_BREAKGLASS_SPOOL"] ?? "", principal: env["INTERLOCK_PRINCIPAL"] ?? "" }
      : undefined,
  };
}
