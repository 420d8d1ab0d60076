// People at the console: their keys, the approvals that they sign, and halts.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { apiOf, seed } from "./seed.mjs";
import { serve, serveForPeople, until } from "./server.mjs";
import { close, decided, faults, logIn, settled, visit } from "./visit.mjs";

after(close);

/** The authenticator of a person: a passkey of this browser, with the person verified. */
async function withPasskeys({ page, context }) {
  const devtools = await context.newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { devtools, authenticatorId };
}

/** Calls the API as the person of a page. */
const asPerson = (page, method, path, body) =>
  page.evaluate(
    async ([method, path, body]) => {
      const response = await fetch(`/ui/api${path}`, {
        method,
        headers: {
          "Content-Type": "application/json",
          "X-Interlock-CSRF": localStorage.getItem("interlock-code"),
          "Idempotency-Key": crypto.randomUUID(),
        },
        body: body && JSON.stringify(body),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(text);
      return text ? JSON.parse(text) : undefined;
    },
    [method, path, body],
  );

/** Runs a program, and returns its exit code and all that it wrote. */
function run(program, ...args) {
  const done = spawnSync(program, args, { encoding: "utf8" });
  return { code: done.status, text: done.stdout + done.stderr };
}

describe("people", () => {
  let home;
  let ann;
  let api;

  before(async () => {
    home = await serveForPeople();
    ann = await visit();
    Object.assign(ann, await withPasskeys(ann));
    api = apiOf(home.url, home.tokens);
  });

  after(async () => {
    await ann?.context.close();
    await home?.end();
  });

  /** An agent waits for a person. */
  async function ask(data) {
    const { run_id } = await api("agent", "POST", "/v1/runs", { workflow: "release" });
    const parked = await api("agent", "POST", `/v1/runs/${run_id}/transition`, { event: "SHIP", data });
    return { run: run_id, approval: parked.approval_id };
  }

  const stateOf = async (run) => (await api("agent", "GET", `/v1/runs/${run}`)).state;
  const voteOf = async (id) => (await asPerson(ann.page, "GET", `/v1/approvals/${id}`)).votes[0];
  const dialog = () => ann.page.getByRole("dialog");
  const signIt = () => dialog().getByRole("button", { name: "Sign with a passkey" }).click();

  test("register a passkey by the code, log out, and log in by it", async () => {
    const { page, problems } = ann;
    assert.equal(new URL(home.register).origin, home.url); // an IP address has no passkeys
    await page.goto(home.register.replace("localhost", "127.0.0.1"));
    await page.getByRole("link", { name: `Open ${home.url}` }).click();
    await page.getByLabel("Name").fill("ann");
    assert.equal(new URL(page.url()).hash, "");
    await page.getByRole("button", { name: "Make a passkey" }).click();
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await page.getByText("ann as approver, operator, root").waitFor();
    await asPerson(page, "POST", "/v1/workflows", {
      id: "release",
      initial: "gate",
      meta: { approval_mode: "ui" },
      states: {
        gate: { on: { SHIP: { target: "end", requires_approval: true, approval_message: "Deploy to production?" } } },
        end: { type: "final" },
      },
    });
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Token").waitFor();
    await page.getByLabel("Name", { exact: true }).fill("ann");
    await page.getByLabel("Passphrase").fill("not a passphrase of ann");
    await page.getByRole("button", { name: "Use the passphrase" }).click();
    await page.getByRole("alert").getByText("the log-in is refused").waitFor();
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.getByRole("heading", { name: "Now" }).waitFor();
    // The code counts once.
    const second = await visit();
    await second.page.goto(home.register);
    await second.page.getByLabel("Name").fill("eve");
    await second.page.getByLabel("Or a passphrase").fill("four plain words here");
    await second.page.getByLabel("The passphrase again").fill("four plain words here");
    await second.page.getByRole("button", { name: "Use a passphrase" }).click();
    await second.page.getByRole("alert").getByText("was used").waitFor();
    assert.deepEqual([...problems, ...second.problems], []);
    await second.context.close();
  });

  // S23.60
  test("an approval is signed, and anyone can check it in the receipt", async () => {
    const { page, problems } = ann;
    const asked = await ask({ image: "web:42" });
    await page.goto(`${home.url}/ui/approvals/${asked.approval}`);
    await page.getByLabel("Note").fill("tests pass");
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    const text = dialog().getByRole("region", { name: "The text that you sign" });
    for (const line of ['I, "ann", approve:', '"image": "web:42"', 'With the note "tests pass"'])
      await text.getByText(line).waitFor();
    assert.deepEqual(await faults(page), []);
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/console-signing.png` });
    await dialog().getByRole("button", { name: "Cancel" }).click();
    assert.equal(await stateOf(asked.run), "gate"); // nothing was decided
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await signIt();
    await decided(page).waitFor();
    await page.getByText("signed by passkey").waitFor();
    await until("the run to end", async () => (await stateOf(asked.run)) === "end");

    await page.goto(`${home.url}/ui/runs/${asked.run}`);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save its receipt" }).click();
    const file = join(home.data, "run.receipt.json");
    await (await saved).saveAs(file);
    const key = join(home.data, "receipt.key.pub");
    const signed = "ann approved approval";
    const verified = run(process.env.INTERLOCK, "receipt", "verify", file, "--key", key);
    assert.equal(verified.code, 0, verified.text);
    assert.match(
      verified.text,
      new RegExp(`${signed} ${asked.approval}, signed with passkey SHA256:\\S+ at ${home.url}`),
    );
    const checked = run(process.env.RECEIPTCHECK, file, key);
    assert.equal(checked.code, 0, checked.text);
    assert.match(checked.text, new RegExp(signed));

    const receipt = JSON.parse(readFileSync(file, "utf8"));
    const payload = Buffer.from(receipt.payload, "base64").toString();
    assert.ok(payload.includes("web:42"));
    receipt.payload = Buffer.from(payload.replaceAll("web:42", "web:41")).toString("base64");
    writeFileSync(file, JSON.stringify(receipt));
    assert.notEqual(run(process.env.INTERLOCK, "receipt", "verify", file, "--key", key).code, 0);
    assert.notEqual(run(process.env.RECEIPTCHECK, file, key).code, 0);
    assert.deepEqual(problems, []);
  });

  test("several approvals are one signature, and so are a rejection and a lease", async () => {
    const { page, problems } = ann;
    const same = [await ask({ image: "web:43" }), await ask({ image: "web:43" })];
    await page.goto(`${home.url}/ui/approvals/${same[0].approval}`);
    await page.getByRole("button", { name: "Approve all 2" }).click();
    await dialog().getByRole("button", { name: "Yes" }).click();
    await dialog().getByText("2 of 2").waitFor();
    await signIt();
    for (const { run } of same) await until("each run to end", async () => (await stateOf(run)) === "end");
    const [first, second] = await Promise.all(same.map(({ approval }) => voteOf(approval)));
    assert.ok(first.signature.passkey);
    assert.equal(first.signature.statement, second.signature.statement);

    const no = await ask({ image: "web:44" });
    await page.goto(`${home.url}/ui/approvals/${no.approval}`);
    await page.getByRole("button", { name: "Reject", exact: true }).click();
    await dialog().getByText('I, "ann", reject:').waitFor();
    await signIt();
    await until("the rejection", async () => (await voteOf(no.approval))?.signature?.passkey);

    await asPerson(page, "POST", "/v1/workflows", {
      id: "pushes",
      initial: "work",
      states: { work: { allowed_tools: ["Bash", "Edit"], on: { DONE: "end" } }, end: { type: "final" } },
    });
    await asPerson(page, "POST", "/v1/policies?name=pushes", { role: "agent", ask: [{ capability: "bash" }] });
    await asPerson(page, "PUT", "/v1/policies/pushes/attachments/workflow/pushes");
    const { run_id } = await api("agent", "POST", "/v1/runs", { workflow: "pushes", session_id: "pushes" });
    const check = (command) => api("agent", "POST", `/v1/runs/${run_id}/check`, { tool: "Bash", input: { command } });
    const { approval_id } = await check("git push origin main");
    await page.goto(`${home.url}/ui/approvals/${approval_id}`);
    await page.getByLabel("Let calls like it pass").check();
    await page.getByLabel("Pattern").fill("git push origin *");
    await page.getByRole("button", { name: "Approve, and calls like it" }).click();
    await dialog().getByText('pattern "git push origin *"').waitFor();
    await signIt();
    await decided(page).waitFor();
    assert.equal(JSON.parse((await voteOf(approval_id)).signature.statement).lease.pattern, "git push origin *");
    assert.equal((await check("git push origin next")).decision, "ALLOW");
    assert.deepEqual(problems, []);
  });

  test("without the passkey, nothing is decided unless the person says so", async () => {
    const { page, problems, devtools, authenticatorId } = ann;
    await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
    const asked = await ask({ image: "web:45" });
    await page.goto(`${home.url}/ui/approvals/${asked.approval}`);
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await signIt();
    await dialog().getByRole("alert").waitFor();
    assert.equal(await stateOf(asked.run), "gate");
    await dialog().getByRole("button", { name: "Approve without a signature" }).click();
    await until("the run to end", async () => (await stateOf(asked.run)) === "end");
    assert.equal((await voteOf(asked.approval)).signature, undefined);
    await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true });

    // Where the terms demand it, there is no other way.
    await asPerson(page, "POST", "/v1/workflows", {
      id: "release",
      initial: "gate",
      meta: { approval: { presence: true } },
      states: { gate: { on: { SHIP: { target: "end", requires_approval: true } } }, end: { type: "final" } },
    });
    const demanded = await ask({ image: "web:46" });
    await page.goto(`${home.url}/ui/approvals/${demanded.approval}`);
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await dialog().getByText('I, "ann", approve:').waitFor();
    assert.equal(await dialog().getByRole("button", { name: "without a signature" }).count(), 0);
    await signIt();
    await until("the run to end", async () => (await stateOf(demanded.run)) === "end");

    // One person cannot be two.
    await asPerson(page, "POST", "/v1/workflows", {
      id: "release",
      initial: "gate",
      meta: { approval: { quorum: { required: 2, distinct: "person" } } },
      states: { gate: { on: { SHIP: { target: "end", requires_approval: true } } }, end: { type: "final" } },
    });
    const pair = await ask({ image: "web:47" });
    await page.goto(`${home.url}/ui/approvals/${pair.approval}`);
    await page.getByText("No one can approve this now:").waitFor();
    assert.deepEqual(problems, []);
  });

  test("a person adds and removes keys, and never the only one", async () => {
    const { page, problems, devtools, authenticatorId } = ann;
    await page.goto(`${home.url}/ui/people`);
    await page.getByRole("region", { name: "You", exact: true }).getByText("shown by passkey").waitFor();
    const keys = page.getByRole("region", { name: "Your keys", exact: true });
    await keys.getByText("This is your only key.").waitFor();
    assert.equal(await keys.getByRole("button", { name: "Remove" }).count(), 0);
    await keys.getByLabel("Name of the key").fill("blue");
    await keys.getByRole("button", { name: "Add a passkey" }).click();
    await keys.getByText("This device has a passkey of yours already.").waitFor();
    // Another device.
    const { credentials } = await devtools.send("WebAuthn.getCredentials", { authenticatorId });
    await devtools.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId });
    Object.assign(ann, await withPasskeys(ann));
    await keys.getByRole("button", { name: "Add a passkey" }).click();
    await keys.getByRole("button", { name: "Remove blue" }).waitFor();
    assert.equal(await keys.getByRole("row").count(), 3);
    assert.deepEqual(await faults(page), []);
    await keys.getByRole("button", { name: "Remove blue" }).click();
    await dialog().getByRole("button", { name: "Yes" }).click();
    await keys.getByText("This is your only key.").waitFor();
    await ann.devtools.send("WebAuthn.clearCredentials", { authenticatorId: ann.authenticatorId });
    for (const credential of credentials)
      await ann.devtools.send("WebAuthn.addCredential", { authenticatorId: ann.authenticatorId, credential });
    assert.deepEqual(problems, []);
  });

  test("an operator invites a person by a link that counts once, helps them back, and removes them", async () => {
    const { page, problems } = ann;
    await page.goto(`${home.url}/ui/people`);
    await page.getByText("Add a person").first().click();
    const form = page.getByRole("form", { name: "Add a person" });
    await form.getByLabel("Name", { exact: true }).fill("bob");
    await form.getByLabel("root").check(); // which needs the role root of the session
    await form.getByLabel("Names elsewhere").fill("slack:T01/U02");
    await form.getByRole("button", { name: "Add and invite" }).click();
    const linkOf = async () => {
      const link = await page.getByRole("dialog", { name: "Link for bob" }).getByLabel("Link").inputValue();
      await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
      return link;
    };
    const link = await linkOf();
    assert.ok(link.startsWith(`${home.url}/ui/#register=`));
    const person = page.getByRole("article", { name: "Person bob" });
    await person.getByText("invited, the link ends").waitFor();
    await person.getByText("known as slack:T01/U02").waitFor();
    const register = async (at) => {
      const bob = await visit();
      await bob.page.goto(at);
      await bob.page.getByText("It is for bob.").waitFor();
      await bob.page.getByLabel("Or a passphrase").fill("four plain words here");
      await bob.page.getByLabel("The passphrase again").fill("four plain words here");
      await bob.page.getByRole("button", { name: "Use a passphrase" }).click();
      return bob;
    };
    const bob = await register(link);
    await bob.page.getByText("bob as approver, root").waitFor();
    const again = await visit();
    await again.page.goto(link); // a used code names no person
    await again.page.getByLabel("Name").fill("bob");
    await again.page.getByLabel("Or a passphrase").fill("four plain words here");
    await again.page.getByLabel("The passphrase again").fill("four plain words here");
    await again.page.getByRole("button", { name: "Use a passphrase" }).click();
    await again.page.getByRole("alert").waitFor();
    // bob sees people of his namespace, and changes only keys of his own.
    await bob.page.goto(`${home.url}/ui/people`);
    await bob.page.getByRole("article", { name: "Person bob" }).waitFor();
    assert.equal(await bob.page.getByRole("button", { name: /^(Remove|Recover|Invite)/ }).count(), 0);
    await person.getByText("1 key").waitFor();
    await person.getByRole("button", { name: "Recover bob" }).click();
    await dialog().getByText("it is recorded that you made it").waitFor();
    await dialog().getByRole("button", { name: "Yes" }).click();
    const second = await register(await linkOf());
    await second.page.getByText("bob as approver, root").waitFor();
    assert.deepEqual(await faults(page), []);
    await person.getByRole("button", { name: "Remove bob" }).click();
    await dialog().getByRole("button", { name: "Yes" }).click();
    await person.waitFor({ state: "detached" });
    assert.deepEqual([...problems, ...bob.problems, ...second.problems], []);
    for (const { context } of [bob, again, second]) await context.close();
  });

  test("the whole deployment is halted and lifted by root", async () => {
    const { page, problems } = ann;
    const { run_id } = await api("agent", "POST", "/v1/runs", { workflow: "pushes" });
    const check = () => api("agent", "POST", `/v1/runs/${run_id}/check`, { tool: "Bash", input: { command: "ls" } });
    await page.getByRole("button", { name: "Halt…" }).click();
    await dialog().getByLabel("What to stop").selectOption("all");
    await dialog().getByLabel("Reason").fill("a leak");
    await dialog().getByRole("button", { name: "Halt", exact: true }).click();
    const halts = page.getByRole("region", { name: "Halts in force" });
    await halts.getByText("Halted: the whole deployment.").waitFor();
    assert.equal((await check()).code, "HALTED");
    await halts.getByRole("button", { name: "Lift" }).click();
    await dialog().getByLabel("Reason").fill("closed");
    await dialog().getByRole("button", { name: "Yes" }).click();
    await halts.waitFor({ state: "detached" });
    assert.equal((await check()).decision, "ASK");
    assert.deepEqual(problems, []);
  });
});

describe("halts", () => {
  let server;
  let api;

  before(async () => {
    server = await serve();
    await seed(server.url, server.tokens, { runs: 3, states: 1 });
    api = apiOf(server.url, server.tokens);
  });

  after(() => server?.end());

  // S23.62
  test("an operator stops the runs of a workflow, everybody sees it, and an operator lifts it", async () => {
    const started = await api("agent", "POST", "/v1/runs", { workflow: "deploy" });
    const check = () => api("agent", "POST", `/v1/runs/${started.run_id}/check`, { tool: "Read", input: {} });
    const [operator, observer] = [await visit({ colorScheme: "dark" }), await visit()];
    await logIn(observer.page, server.url, server.tokens.observer, "/runs");
    await logIn(operator.page, server.url, server.tokens.operator, "/workflows/deploy");
    await settled(observer.page);
    assert.equal(await observer.page.getByRole("button", { name: "Halt…" }).count(), 0);
    const { page } = operator;
    const dialog = page.getByRole("dialog", { name: "Halt work" });
    await page.getByRole("button", { name: "Halt…" }).click();
    // The page's own workflow is the scope, until another one is chosen.
    assert.equal(await dialog.getByLabel("What to stop").inputValue(), "workflow");
    assert.equal(await dialog.getByLabel("Workflow", { exact: true }).inputValue(), "deploy");
    await dialog.getByText(/^\d+ runs? (is|are) in progress in this scope\.$/).waitFor();
    assert.equal(await dialog.getByRole("option", { name: "The whole deployment" }).count(), 0); // that needs root
    await dialog.getByRole("button", { name: "Halt", exact: true }).click(); // without a reason it stays
    assert.equal((await check()).decision, "ALLOW");
    assert.deepEqual(await faults(page), []);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Halt…" }).press("Enter");
    await dialog.getByLabel("Reason").fill("it deploys the wrong image");
    await page.keyboard.press("Enter");
    const banner = (p) => p.getByRole("region", { name: "Halts in force" });
    for (const { page } of [operator, observer]) {
      await banner(page).getByText("Halted: workflow deploy.").waitFor();
      await banner(page).getByText("it deploys the wrong image").waitFor();
    }
    const denied = await check();
    assert.equal(denied.code, "HALTED");
    assert.match(denied.message, /it deploys the wrong image/);
    assert.deepEqual(await faults(page), []);
    assert.equal(await banner(observer.page).getByRole("button").count(), 0);
    await observer.page.goto(`${server.url}/ui/health`);
    await banner(observer.page).waitFor(); // on every page
    await banner(page).getByRole("button", { name: "Lift" }).click();
    await page.getByRole("dialog").getByLabel("Reason").fill("mended");
    await page.getByRole("dialog").getByRole("button", { name: "Yes" }).click();
    for (const { page } of [operator, observer]) await banner(page).waitFor({ state: "detached" });
    assert.equal((await check()).decision, "ALLOW");
    for (const { problems, context } of [operator, observer]) {
      assert.deepEqual(problems, []);
      await context.close();
    }
  });
});

describe("freezes", () => {
  let server;
  let api;

  before(async () => {
    server = await serve();
    api = apiOf(server.url, server.tokens);
    await api("operator", "POST", "/v1/workflows", {
      id: "deploy-web",
      initial: "ready",
      freeze: ["DEPLOY"],
      states: { ready: { on: { PLAN: "ready", DEPLOY: "live" } }, live: { type: "final" } },
    });
  });

  after(() => server?.end());

  test("an operator freezes workflows until a time, the run shows it, and an operator lifts it", async () => {
    const run = await api("agent", "POST", "/v1/runs", { workflow: "deploy-web" });
    const { page, problems, context } = await visit();
    await logIn(page, server.url, server.tokens.operator, `/runs/${run.run_id}`);
    const dialog = page.getByRole("dialog", { name: "Freeze workflows" });
    await page.getByRole("button", { name: "Freeze…" }).click();
    await dialog.getByLabel("Workflows, in which").fill("deploy*");
    await dialog.getByLabel("Until").fill(`${new Date().getFullYear() + 1}-01-02T03:04`);
    await dialog.getByLabel("Reason").fill("end of the year");
    assert.deepEqual(await faults(page), []);
    await dialog.getByRole("button", { name: "Freeze", exact: true }).click();
    const banner = page.getByRole("region", { name: "Freezes in force" });
    await banner.getByText("Frozen: workflows deploy*").waitFor();
    await page.getByText(/Frozen until .*: DEPLOY\. end of the year, by operator/).waitFor();
    assert.deepEqual(await faults(page), []);
    await banner.getByRole("button", { name: "Lift" }).click();
    await page.getByRole("dialog").getByLabel("Reason").fill("the release is out");
    await page.getByRole("dialog").getByRole("button", { name: "Yes" }).click();
    await banner.waitFor({ state: "detached" });
    await page.getByText(/Frozen until/).waitFor({ state: "detached" });
    assert.deepEqual(problems, []);
    await context.close();
  });
});

describe("who called", () => {
  let server;
  let api;

  before(async () => {
    server = await serve();
    api = apiOf(server.url, server.tokens);
    await api("operator", "POST", "/v1/workflows", {
      id: "shop",
      initial: "work",
      states: { work: { allowed_tools: ["Read", "Bash", "Edit"], on: { DONE: "end" } }, end: { type: "final" } },
    });
    await api("operator", "POST", "/v1/policies?name=careful", {
      role: "agent",
      deny: [{ capability: "tool:Read", exceptable: true }],
      ask: [{ capability: "bash" }],
    });
    await api("operator", "PUT", "/v1/policies/careful/attachments/workflow/shop");
  });

  after(() => server?.end());

  test("an exception is shown with the rule and the decision that it let pass, and is withdrawn", async () => {
    const made = await api("operator", "POST", "/v1/exceptions", {
      policy: "careful",
      rule: "/deny/0",
      principal: "agent",
      until: "1h",
      reason: "INC-42",
    });
    const { run_id } = await api("agent", "POST", "/v1/runs", { workflow: "shop", session_id: "lead" });
    const passed = await api("agent", "POST", `/v1/runs/${run_id}/check`, { tool: "Read", input: {} });
    assert.equal(passed.decision, "ALLOW");
    const { page, context, problems } = await visit();
    await logIn(page, server.url, server.tokens.operator, `/decisions/${run_id}/${passed.call_id}`);
    await page.getByText(made.exception_id).waitFor();
    const who = page.locator("section", { has: page.getByRole("heading", { name: "Who, when and where" }) });
    for (const [name, value] of [
      ["Principal", "agent"],
      ["Via", "rest"],
    ])
      await who.locator("dt", { hasText: name }).locator("+ dd", { hasText: value }).waitFor();
    await page.goto(`${server.url}/ui/policies/careful`);
    const exceptions = page.getByRole("region", { name: "Exceptions" });
    await exceptions.getByText("INC-42").waitFor();
    await exceptions.getByText("does not hold for principal agent").waitFor();
    assert.deepEqual(await faults(page), []);
    await exceptions.getByRole("button", { name: "Withdraw" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Yes" }).click();
    await exceptions.getByText("No exception is in force.").waitFor();
    assert.equal(
      (await api("agent", "POST", `/v1/runs/${run_id}/check`, { tool: "Read", input: {} })).decision,
      "DENY",
    );
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("callers that were refused are listed", async () => {
    await assert.rejects(api("agent", "POST", "/v1/halts", { kind: "namespace", reason: "mine" }), /403/);
    const { page, context, problems } = await visit();
    await logIn(page, server.url, server.tokens.observer, "/decisions");
    await page.getByRole("link", { name: "Refused callers" }).click();
    const row = page.getByRole("row").filter({ hasText: "CreateHalt" });
    await row.getByText("PERMISSION_DENIED").waitFor();
    await row.getByText("agent").first().waitFor();
    assert.deepEqual(await faults(page), []);
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("a question that is never rejected has a hint", async () => {
    const { run_id } = await api("agent", "POST", "/v1/runs", { workflow: "shop", session_id: "many" });
    const { page, context, problems } = await visit();
    for (let i = 0; i < 20; i++) {
      const { approval_id } = await api("agent", "POST", `/v1/runs/${run_id}/check`, {
        tool: "Bash",
        input: { command: `ls ${i}` },
      });
      await api("approver", "POST", `/v1/approvals/${approval_id}/approve`, {});
    }
    await logIn(page, server.url, server.tokens.operator, "/approvals");
    await page.getByText("1 question is hardly ever rejected.").click();
    await page.getByText("0 of 20 were ever rejected: a lease or a rule?").waitFor();
    await page.getByText("policy careful /ask/0").waitFor();
    // A vote that a relay has passed on names the identity and the relay.
    const { approvals } = await api("approver", "GET", "/v1/approvals?page_size=1");
    const [{ approval_id, votes }] = approvals;
    await page.route(`**/v1/approvals/${approval_id}`, async (route) => {
      const answer = await (await route.fetch()).json();
      const relayed = { ...votes[0], by: "ann", person: true, identity: "slack:T01/U02", relay: "slackbot" };
      await route.fulfill({ json: { ...answer, votes: [relayed] } });
    });
    await page.goto(`${server.url}/ui/approvals/${approval_id}`);
    await page.getByText("(slack:T01/U02, by relay slackbot)").waitFor();
    assert.deepEqual(await faults(page), []);
    assert.deepEqual(problems, []);
    await context.close();
  });
});
