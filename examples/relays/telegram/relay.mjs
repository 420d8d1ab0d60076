// A relay to Telegram, by long polling: it needs no address that Telegram can reach, and no packages.
//
//   interlock token add relay --name telegrambot > relay.token
//   interlock up --relay telegrambot=telegram:BOT/ ...
//   interlock person add ann --role approver --identity telegram:BOT/12345     (the id of ann's account)
//   INTERLOCK_TOKEN=$(cat relay.token) TELEGRAM_TOKEN=... TELEGRAM_CHAT=-100... TELEGRAM_BOT=BOT node relay.mjs
//
// Who clicks is known by from.id, which Telegram vouches for; never by a name, which anyone can choose.
import { readFileSync, renameSync, writeFileSync } from "node:fs";

const need = (name, otherwise) => process.env[name] ?? otherwise ?? (console.error(`set ${name}`), process.exit(64));
const server = need("INTERLOCK_HTTP_SERVER", "http://127.0.0.1:7420"), bearer = `Bearer ${need("INTERLOCK_TOKEN")}`;
const api = `${need("TELEGRAM_API", "https://api.telegram.org")}/bot${need("TELEGRAM_TOKEN")}`;
const chat = need("TELEGRAM_CHAT"), bot = need("TELEGRAM_BOT"), file = need("TELEGRAM_STATE", "telegram-relay.json");
const pause = Number(need("TELEGRAM_PAUSE_MS", "1000"));

// Which message shows which approval: {approval: {message, digest, version}}. It survives a restart.
let state = { offset: 0, shown: {} };
try {
  state = JSON.parse(readFileSync(file, "utf8"));
} catch (e) {
  if (e.code !== "ENOENT") throw e;
}
const keep = () => {
  writeFileSync(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${file}.new`, file);
};

// The address of a call has the bot's token: no error shows it.
async function telegram(method, args) {
  const answer = await fetch(`${api}/${method}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(args) })
    .then((r) => r.json(), () => ({ ok: false, description: "no answer" }));
  if (!answer.ok) throw new Error(`${method}: ${answer.description}`);
  return answer.result;
}

async function interlock(path, body, headers) {
  const response = await fetch(server + path, {
    method: body ? "POST" : "GET", body: body && JSON.stringify(body), headers: { authorization: bearer, ...headers },
  });
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.detail), { status: response.status });
  return answer;
}

const line = (s, most) => String(s ?? "").replace(/[\p{C}\p{Z}]+/gu, " ").trim().slice(0, most); // on one line, without hidden characters
const words = (a) => // plain text: without parse_mode there is no markup
  [a.status === "PENDING" ? "Approval wanted" : a.status, line(a.message, 500), `asked by ${line(a.asker.principal, 100)}`,
    line(JSON.stringify(a.data ?? a.subject), 1500), line(a.outcome, 500)].filter(Boolean).join("\n");

// The digest is cut: Telegram gives 64 bytes to a button. The whole one is in the state, and goes with the vote.
const keyboard = (a) => ({
  inline_keyboard: a.status === "PENDING" && a.you?.may_decide
    ? [[["Approve", "y"], ["Reject", "n"]].map(([text, word]) => ({ text, callback_data: `${word} ${a.approval_id} ${a.digest.slice(0, 16)}` }))] : [],
});

async function show(id) {
  const a = await interlock(`/v1/approvals/${id}`);
  const known = state.shown[id];
  if (!known && a.status !== "PENDING" || known?.version === a.version) return;
  const message = { chat_id: chat, text: words(a), reply_markup: keyboard(a), link_preview_options: { is_disabled: true } };
  const sent = known ? await telegram("editMessageText", { ...message, message_id: known.message }) : await telegram("sendMessage", message);
  state.shown[id] = { message: known?.message ?? sent.message_id, digest: a.digest, version: a.version, open: a.status === "PENDING" };
  keep();
}

async function click({ id, from, message, data }) {
  const [word, approval, digest] = String(data).split(" ");
  const known = state.shown[approval];
  let says = "This message does not show an approval as it is now. Nothing was decided.";
  if (String(message?.chat?.id) === chat && known?.message === message.message_id && known.digest.slice(0, 16) === digest && "yn".includes(word)) {
    const body = { as_identity: `telegram:${bot}/${from.id}`, ...(word === "y" && { digest: known.digest }) };
    says = await interlock(`/v1/approvals/${approval}/${word === "y" ? "approve" : "reject"}`, body, { "idempotency-key": `telegram:${id}` })
      .then((a) => line(a.outcome, 190), (e) => `Nothing was decided: ${line(e.status ? e.message : "Interlock cannot be reached", 160)}`);
  }
  await telegram("answerCallbackQuery", { callback_query_id: id, text: says, show_alert: true });
}

async function compare() {
  const open = Object.keys(state.shown).filter((id) => state.shown[id].open);
  const { approvals } = await interlock("/v1/approvals?status=PENDING");
  for (const id of new Set([...open, ...approvals.map((a) => a.approval_id)])) await show(id);
}

for (;;) {
  try {
    await compare();
    for (const update of await telegram("getUpdates", { offset: state.offset, timeout: 5, allowed_updates: ["callback_query"] })) {
      state.offset = update.update_id + 1;
      if (update.callback_query) await click(update.callback_query);
      keep();
    }
  } catch (e) {
    console.error(e.message);
    await new Promise((done) => setTimeout(done, pause));
  }
}
