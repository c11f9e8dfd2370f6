import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { Feed } from "../../static/js/feed.js";

const PACE = { first: 2, most: 20, silence: 5000, doubt: 0 };
let server;
let base;
/** What the server does with each request, in order; the last one is repeated. */
let script = [];
let asked = [];

before(async () => {
  server = createServer((request, response) => {
    asked.push(request.url);
    const act = script.length > 1 ? script.shift() : script[0];
    act(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${server.address().port}`;
});

after(() => {
  server.closeAllConnections();
  server.close();
});

const stream = (text, { end = true } = {}) => (response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.write(text);
  if (end) response.end();
};
const status = (code, headers = {}) => (response) => response.writeHead(code, headers).end();
const event = (seq) => `id: e1.${seq}\ndata: ${JSON.stringify({ seq })}\n\n`;

/** Run a feed against a script until `until(seen)`, or until it ends by itself. */
async function read(steps, until = () => false, pace = PACE) {
  script = steps;
  asked = [];
  const seen = { events: [], controls: [], statuses: [], cursor: null };
  const look = () => until(seen) && feed.close();
  const feed = new Feed({
    address: (cursor) => `${base}/events?after=${cursor}`,
    after: "e1.0",
    pace,
    on: {
      event: (data, cursor) => {
        seen.events.push([data.seq, cursor]);
        look();
      },
      control: (name, data) => {
        seen.controls.push([name, data]);
        look();
      },
      status: (now) => {
        seen.statuses.push(now.reason ? `${now.state} ${now.reason}` : now.state);
        look();
      },
    },
  });
  seen.feed = feed;
  await feed.run();
  seen.cursor = feed.cursor;
  return seen;
}

test("after a cut it resumes from the last event it handed on", async () => {
  const steps = [stream(event(1) + event(2) + 'id: e1.3\ndata: {"half'), stream(event(3), { end: false })];
  const seen = await read(steps, ({ events }) => events.length === 3);
  assert.deepEqual(seen.events, [[1, "e1.1"], [2, "e1.2"], [3, "e1.3"]]);
  assert.deepEqual(asked, ["/events?after=e1.0", "/events?after=e1.2"]);
  assert.deepEqual(seen.statuses, ["connecting", "live", "reconnecting cut", "live", "ended closed"]);
});

test("503 and a refused connection are tried again, for as long as it takes", async () => {
  const steps = [status(503), status(502), (response) => response.destroy(), stream(event(1), { end: false })];
  const seen = await read(steps, ({ events }) => events.length === 1);
  assert.equal(asked.length, 4);
  assert.deepEqual(seen.statuses.slice(1, 4), ["reconnecting status 503", "reconnecting status 502", "reconnecting cut"]);
});

for (const [code, reason] of [[401, "signed_out"], [403, "refused"], [404, "gone"], [410, "gone"]]) {
  test(`${code} is final`, async () => {
    const seen = await read([status(code)]);
    assert.equal(seen.statuses.at(-1), `ended ${reason}`);
    assert.equal(asked.length, 1);
  });
}

test("control frames are handed on and never move the cursor", async () => {
  const text = `event: health\ndata: {"worker":"away"}\n\n${event(1)}event: current\ndata: {}\n\n`;
  const seen = await read([stream(text, { end: false })], ({ controls }) => controls.length === 2);
  assert.deepEqual(seen.controls, [["health", { worker: "away" }], ["current", {}]]);
  assert.equal(seen.cursor, "e1.1");
});

test("a reset ends it: a snapshot must be taken first", async () => {
  const seen = await read([stream('event: reset\ndata: {"snapshot":"/x"}\n\n' + event(9), { end: false })]);
  assert.equal(seen.statuses.at(-1), "ended reset");
  assert.deepEqual(seen.events, []);
});

test("after bye it comes back when it was asked to", async () => {
  const steps = [stream(event(1) + 'event: bye\ndata: {"retry_ms":1}\n\n', { end: false }), stream(event(2), { end: false })];
  const seen = await read(steps, ({ events }) => events.length === 2);
  assert.ok(seen.statuses.includes("reconnecting bye"));
  assert.equal(asked[1], "/events?after=e1.1");
});

test("silence longer than the watchdog's time is a dead connection", async () => {
  const steps = [stream(event(1), { end: false }), stream(event(2), { end: false })];
  const seen = await read(steps, ({ events }) => events.length === 2, { ...PACE, silence: 60 });
  assert.deepEqual(seen.events.map(([seq]) => seq), [1, 2]);
});

test("comments are a sign of life", async () => {
  const beating = (response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    let beats = 0;
    const timer = setInterval(() => {
      response.write(beats < 12 ? ": beat\n\n" : event(1));
      beats += 1;
    }, 20);
    response.on("close", () => clearInterval(timer));
  };
  const seen = await read([beating], ({ events }) => events.length === 1, { ...PACE, silence: 150 });
  assert.equal(asked.length, 1);
  assert.deepEqual(seen.statuses, ["connecting", "live", "ended closed"]);
});

test("waking up cuts a long pause short", async () => {
  let feed;
  const steps = [status(503, { "Retry-After": "30" }), stream(event(1), { end: false })];
  const started = Date.now();
  const seen = await read(steps, (now) => {
    feed = now.feed ?? feed;
    if (now.statuses.at(-1)?.startsWith("reconnecting")) setImmediate(() => now.feed.wake());
    return now.events.length === 1;
  });
  assert.equal(seen.events.length, 1);
  assert.ok(Date.now() - started < 10000);
});

test("closing stops it at once, in mid stream", async () => {
  const seen = await read([stream(event(1) + event(2), { end: false })], ({ events }) => events.length === 1);
  assert.deepEqual(seen.events, [[1, "e1.1"]]);
  assert.equal(seen.statuses.at(-1), "ended closed");
});
