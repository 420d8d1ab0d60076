// Slack's own clients against the fake of Slack that the relay is tested with: a second reader of what that serves and sends. It prints a line
// for each thing that it has read, and ends with its standard input.
import bolt from "@slack/bolt";
import { WebClient } from "@slack/web-api";

const { SLACK_API, SLACK_BOT, SLACK_APP, SLACK_SECRET, SLACK_CHANNEL } = process.env;
const say = (...words) => console.log(words.join(" "));
const web = new WebClient(SLACK_BOT, { slackApiUrl: SLACK_API });
const refused = (call) => call.then(() => "accepted", (e) => e.data?.error ?? e.message);

const me = await web.auth.test();
say("auth.test", me.team_id, me.user_id);
const text = (s) => ({ type: "plain_text", text: s });
const blocks = [
  { type: "header", text: text("Approval wanted") },
  { type: "section", text: text("Ship it?") },
  { type: "actions", block_id: "decide", elements: [{ type: "button", action_id: "interlock_approve", style: "primary", text: text("Approve"), value: '{"a":"apr_1"}' }] },
];
const metadata = { event_type: "interlock_approval", event_payload: { approval_id: "apr_1" } };
const posted = await web.chat.postMessage({ channel: SLACK_CHANNEL, text: "wanted", blocks, metadata, unfurl_links: false });
say("chat.postMessage", posted.ok, posted.message.blocks.length);
say("chat.update", (await web.chat.update({ channel: SLACK_CHANNEL, ts: posted.ts, text: "granted", blocks: blocks.slice(0, 2) })).ts === posted.ts);
const page = await web.conversations.history({ channel: SLACK_CHANNEL, include_all_metadata: true });
say("conversations.history", page.messages[0].metadata.event_payload.approval_id);
say("chat.postEphemeral", (await web.chat.postEphemeral({ channel: SLACK_CHANNEL, user: "U02", text: "late" })).ok);
const view = { type: "modal", callback_id: "interlock_reject_note", title: text("Reject"), submit: text("Reject"), blocks: [] };
say("views.open", (await web.views.open({ trigger_id: "1.2", view })).view.callback_id);
say("no message", await refused(web.chat.update({ channel: SLACK_CHANNEL, ts: "1.1", text: "x" })));
say("no channel", await refused(web.chat.postMessage({ channel: "C99", text: "x" })));
say("no token", await refused(new WebClient("xoxb-other", { slackApiUrl: SLACK_API }).auth.test()));
say("a long header", await refused(web.chat.postMessage({ channel: SLACK_CHANNEL, text: "x", blocks: [{ type: "header", text: text("x".repeat(151)) }] })));

// What the fake sends: over HTTP, signed, and over Socket Mode.
const quiet = { logLevel: "error", clientOptions: { slackApiUrl: SLACK_API }, token: SLACK_BOT };
function handle(app, way) {
  app.action("interlock_approve", async ({ ack, body, action }) => {
    await ack();
    say(way, "action", body.user.id, body.team.id, body.api_app_id, body.container.message_ts === body.message.ts, action.value);
  });
  app.view("interlock_reject_note", async ({ ack, body, view }) => {
    await ack();
    say(way, "view", body.user.id, view.state.values.note.note.value);
  });
  app.error(async (e) => say(way, "error", e.message));
}
const receiver = new bolt.HTTPReceiver({ signingSecret: SLACK_SECRET, endpoints: "/", logLevel: "error" });
const http = new bolt.App({ ...quiet, receiver });
handle(http, "http");
const server = await http.start({ port: 0, host: "127.0.0.1" });
const socket = new bolt.App({ ...quiet, socketMode: true, appToken: SLACK_APP });
handle(socket, "socket");
await socket.start();
say("ready", server.address().port);
process.stdin.on("end", () => process.exit(0)).resume();
