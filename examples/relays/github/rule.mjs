// A deployment protection rule of GitHub: a deployment to an environment waits until people have approved it in Interlock.
//
// GitHub asks (deployment_protection_rule), this starts a run of a workflow and fires its event, which parks (the workflow "release" of docs/approvals.md does). When Interlock says by a signed
// webhook that it was decided, this answers GitHub. It needs no packages:
//
//   interlock up --webhook http://127.0.0.1:7440/interlock --webhook-secret-file webhook.secret ...
//   GITHUB_SECRET=... GITHUB_TOKEN=... INTERLOCK_TOKEN=... INTERLOCK_WEBHOOK_SECRET=$(cat webhook.secret) node rule.mjs
//
// GITHUB_TOKEN is that of an installation of the GitHub app, with the permission deployments: write. INTERLOCK_TOKEN is an agent's: the rule
// asks, and people decide.
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const need = (name, otherwise) => process.env[name] ?? otherwise ?? (console.error(`set ${name}`), process.exit(64));
const server = need("INTERLOCK_HTTP_SERVER", "http://127.0.0.1:7420"), bearer = `Bearer ${need("INTERLOCK_TOKEN")}`;
const github = new URL(need("GITHUB_API", "https://api.github.com")), file = need("RULE_STATE", "github-rule.json");
const workflow = need("RULE_WORKFLOW", "release"), event = need("RULE_EVENT", "DEPLOY");

let waits = {}; // by run of Interlock: what GitHub waits for
try {
  waits = JSON.parse(readFileSync(file, "utf8"));
} catch (e) {
  if (e.code !== "ENOENT") throw e;
}
const keep = () => {
  writeFileSync(`${file}.new`, JSON.stringify(waits), { mode: 0o600 });
  renameSync(`${file}.new`, file);
};

const equal = (a, b) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
const mac = (secret, ...parts) => parts.reduce((m, part) => m.update(part), createHmac("sha256", secret)).digest("hex");

async function interlock(path, body, key) {
  const response = await fetch(server + path, {
    method: "POST", body: JSON.stringify(body), headers: { authorization: bearer, "content-type": "application/json", "idempotency-key": key },
  });
  if (!response.ok) throw new Error(`Interlock: ${(await response.json()).detail}`);
  return response.json();
}

// asked parks a deployment. A request that GitHub sends again has the same keys, and asks once.
async function asked(ask, delivery) {
  const callback = new URL(ask.deployment_callback_url);
  if (callback.origin !== github.origin) throw new Error("the callback is not GitHub's"); // the token goes there
  const session = `github-${ask.deployment.id}-${ask.environment}`.replace(/[^\w.-]/g, "_").slice(0, 100);
  const { run_id } = await interlock("/v1/runs", { workflow, session_id: session }, `github ${delivery} start`);
  waits[run_id] = { callback: callback.href, environment: ask.environment };
  keep();
  const input = { repository: ask.repository.full_name, ref: ask.deployment.ref, sha: ask.deployment.sha, environment: ask.environment };
  await interlock(`/v1/runs/${run_id}/transition`, { event, data: input }, `github ${delivery} ask`);
}

// decided answers GitHub.
async function decided(message) {
  const { approval } = message, wait = waits[approval.run_id];
  const state = { "approval.granted": "approved", "approval.rejected": "rejected", "approval.expired": "rejected", "approval.cancelled": "rejected" }[message.type];
  if (!wait || !state) return;
  const response = await fetch(wait.callback, {
    method: "POST", headers: { authorization: `Bearer ${need("GITHUB_TOKEN")}`, accept: "application/vnd.github+json", "content-type": "application/json" },
    body: JSON.stringify({ environment_name: wait.environment, state, comment: `Interlock ${approval.approval_id}: ${state}${approval.by ? ` by ${approval.by}` : ""}` }),
  });
  if (!response.ok && response.status !== 422) throw new Error(`GitHub: ${response.status}`); // 422: it was answered before
  delete waits[approval.run_id];
  keep();
}

createServer(async (req, res) => {
  const parts = [];
  let size = 0;
  for await (const part of req) if ((size += part.length) <= 1 << 20) parts.push(part);
  const body = Buffer.concat(parts), at = req.headers;
  const byGitHub = equal(at["x-hub-signature-256"] ?? "", `sha256=${mac(need("GITHUB_SECRET"), body)}`);
  const stamp = at["interlock-webhook-timestamp"] ?? "";
  const byInterlock = Math.abs(Date.now() / 1000 - stamp) < 300 && equal(at["interlock-webhook-signature"] ?? "",
    `v1=${mac(need("INTERLOCK_WEBHOOK_SECRET"), `${at["interlock-webhook-id"]}.${stamp}.`, body)}`);
  try {
    if (req.method !== "POST" || size > 1 << 20 || !byGitHub && !byInterlock) return res.writeHead(401).end();
    if (byInterlock) await decided(JSON.parse(body));
    else if (at["x-github-event"] === "deployment_protection_rule") await asked(JSON.parse(body), at["x-github-delivery"]);
    res.writeHead(204).end();
  } catch (e) {
    console.error(e.message);
    res.writeHead(503).end(); // it is sent again
  }
}).listen(Number(need("RULE_PORT", "7440")), "127.0.0.1", function () {
  console.log(`listening on ${this.address().port}`);
});
