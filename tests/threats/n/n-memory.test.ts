// Threats N, T-N04 and T-N01 where memory is what is flooded: answers that nobody takes and bodies that do not
// end. Over real sockets; what lies in memory is counted, not guessed from the size of the process.

import assert from "node:assert/strict";
import { connect } from "node:http2";
import test from "node:test";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { dataOf, type Front, makeFront, RawClient, request } from "../../support/http-front.ts";
import { ask, askAll, certificates, endOf, http2Stage } from "../../support/servers/http2-stage.ts";
import { startServer } from "../../support/servers/test-server.ts";
import { until } from "../../support/until.ts";

const KIBIBYTE = 1024;
const LARGE = 100 * KIBIBYTE;

const largeAnswer: Front["script"] = ({ target }) => ({
  result: new Reply({ text: "x".repeat(target.endsWith("small") ? 10 : LARGE) }),
});

test("T-N04: answers that a connection does not take are few, and then it gets no more of them", async (t) => {
  const { front, session } = await http2Stage(t, { unreadPerConnection: 5 * LARGE });
  front.script = largeAnswer;
  const deaf = session(0);
  const ends = await askAll(deaf, 50);
  const answers = ends.filter((end) => end === 200).length;
  assert.ok(answers >= 1 && answers <= 5, `${answers} answers lie there`);
  assert.deepEqual(new Set(ends), new Set([200, 503]), "the others learn why they have none");
  assert.ok(front.server.heldBytes <= 5 * LARGE);
  const before = front.seen.length;
  const other = session();
  assert.deepEqual(await askAll(other, 3), [200, 200, 200], "another connection has its own");
  assert.equal(front.seen.length, before + 3);
  deaf.destroy();
  other.destroy();
  await until(() => front.server.heldBytes === 0);
});

test("T-N04: a stream on a connection that is full of unread answers is refused before anything is done", async (t) => {
  const { front, session } = await http2Stage(t, { unreadPerConnection: LARGE });
  front.script = largeAnswer;
  const deaf = session(0);
  assert.equal(await ask(deaf), 200);
  assert.deepEqual(await askAll(deaf, 20), Array<string>(20).fill("refused"));
  assert.equal(front.seen.length, 1);
});

test("T-N04: an address has no more unread answers on many connections, and small ones pass all the same", async (t) => {
  const { front, session } = await http2Stage(t, { heldBytesPerAddress: 10 * LARGE });
  front.script = largeAnswer;
  const deaf = Array.from({ length: 8 }, () => session(0));
  const ends = (await Promise.all(deaf.map((one) => askAll(one, 20)))).flat();
  assert.ok(ends.filter((end) => end === 200).length <= 10);
  assert.ok(ends.includes(503));
  assert.ok(front.server.heldBytes <= 10 * LARGE);
  assert.equal(await ask(session(), { ":path": "/v1/sys/small" }), 200);
  for (const one of deaf) one.destroy();
  await until(() => front.server.heldBytes === 0);
  assert.equal(await ask(session()), 200, "there is room again");
});

test("T-N04: bodies that do not end take no more than an address has, and give it back", async (t) => {
  const { front, session } = await http2Stage(t, { heldBytesPerAddress: 10 * LARGE });
  const sender = session();
  const streams = Array.from({ length: 40 }, () => {
    const headers = { ":path": "/v1/sys/a", ":method": "POST", "content-length": LARGE + 1 };
    const stream = sender.request(headers);
    stream.write("x".repeat(LARGE));
    return stream;
  });
  let refused = 0;
  for (const stream of streams) {
    void endOf(stream).then((end) => (refused += Number(end === 503)));
  }
  await until(() => refused >= 30);
  assert.ok(front.server.heldBytes <= 10 * (LARGE + 1), String(front.server.heldBytes));
  sender.destroy();
  await until(() => front.server.heldBytes === 0);
});

test("T-N01: over HTTP/1.1 as well, and what all addresses have is bounded too", async (t) => {
  const front = await makeFront({ limits: { heldBytes: 4 * LARGE } }); // an address has half
  t.after(() => front.close());
  const part = `{"a":"${"x".repeat(LARGE - 100)}`;
  const unfinished = request("POST", "/v1/sys/a", `Content-Length: ${LARGE}`) + part;
  const first = await front.client();
  const second = await front.client();
  await first.send(unfinished);
  await second.send(unfinished);
  await front.settled();
  const held = front.server.heldBytes;
  assert.ok(held > 2 * part.length - 100 && held <= 2 * LARGE, String(held));
  const third = await front.client();
  await third.send(unfinished);
  const answer = await third.answer();
  assert.equal(answer.status, 503);
  assert.equal(answer.headers.get("x-service-error"), "memory_full");
  assert.equal(answer.headers.get("retry-after"), "1");
  const small = await front.client();
  assert.equal((await small.ask(request("GET", "/v1/sys/a"))).status, 200);
  for (const client of [first, second, third, small]) client.destroy();
  await until(() => front.server.heldBytes === 0);
});

test("T-N01: what is announced and does not come takes no room, and what has come takes twice itself at most", async (t) => {
  const front = await makeFront();
  t.after(() => front.close());
  const length = 1024 * KIBIBYTE;
  const client = await front.client();
  await client.send(request("POST", "/v1/sys/a", `Content-Length: ${length}`));
  let sent = "";
  const send = async (text: string) => {
    sent += text;
    await client.send(text);
    await front.settled();
  };
  for (const byte of ['"', "x", "y"]) await send(byte);
  assert.equal(front.seen.length, 1);
  assert.equal(front.server.heldBytes, 0);
  for (const size of [10, 100, 300]) {
    await send("x".repeat(size * KIBIBYTE));
    const held: number = front.server.heldBytes;
    assert.ok(held >= sent.length && held <= 2 * sent.length, `${held} for ${sent.length}`);
  }
  await send(`${"z".repeat(length - sent.length - 1)}"`);
  assert.equal(dataOf(await client.answer()).body, sent);
  await until(() => front.server.heldBytes === 0);
});

test("T-N01: who has no token takes no room of those who have one, nor one address that of another", async (t) => {
  const limits = { heldBytesWithoutToken: 20 * LARGE, heldBytes: 4 * LARGE };
  const front = await makeFront({ limits });
  t.after(() => front.close());
  front.knows = ({ credential }) => credential !== null;
  const part = `"${"x".repeat(LARGE - 100)}`;
  const clients: RawClient[] = [];
  const begin = async (address: string, ...headers: string[]) => {
    const client = await RawClient.connect(front.port, address);
    clients.push(client);
    const head = request("POST", "/v1/sys/a", `Content-Length: ${LARGE}`, ...headers);
    await client.send(head + part);
    return client;
  };
  const finish = async (client: RawClient) => {
    await client.send(`${"y".repeat(LARGE - part.length - 1)}"`);
    return (await client.answer()).status;
  };
  await begin("127.0.0.2");
  await begin("127.0.0.2");
  await until(() => front.server.heldBytes >= 2 * LARGE);
  assert.equal((await (await begin("127.0.0.2")).answer()).status, 503, "it has a ninth");
  assert.equal(await finish(await begin("127.0.0.3")), 200, "another address has its own");
  const known = await begin("127.0.0.2", "X-Service-Token: t");
  assert.equal(await finish(known), 200, "but for those with a token");
  for (const client of clients) client.destroy();
  await until(() => front.server.heldBytes === 0);
});

const OPEN_ENDPOINTS = ["unseal", "generate-root/update", "rekey/update"];

test("T-N01: without a token a body has 64 KiB at most, over either protocol, and the refusal says so", async (t) => {
  const { authority, files } = await certificates(t);
  const { certFile, keyFile } = files;
  const settings = {
    listener: {
      tcp: {
        address: "127.0.0.1:0",
        tls_cert_file: certFile,
        tls_key_file: keyFile,
        http2: true,
        key_ceremonies: "open",
      },
    },
  };
  const secured = await startServer({ settings });
  const session = connect(secured.url.replace("localhost", "127.0.0.1"), { ca: authority.pem });
  session.on("error", () => {});
  t.after(() => {
    session.destroy();
    return secured.stop();
  });
  const plain = await startServer({});
  t.after(() => plain.stop());
  await plain.open();
  for (const endpoint of OPEN_ENDPOINTS) {
    const path = `/v1/sys/${endpoint}`;
    const large = { key: "x".repeat(64 * KIBIBYTE) };
    const answer = await plain.call("POST", path, { body: large });
    assert.equal(answer.status, 413, `${path}: ${answer.text}`);
    assert.match(answer.text, /at most 65536 bytes/);
    const fits = await plain.call("POST", path, { body: { key: "x".repeat(63 * KIBIBYTE) } });
    assert.notEqual(fits.status, 413, path);
  }
  // Keys of share holders are long, each with the signatures of others.
  const keys = { key: "x".repeat(200 * KIBIBYTE) };
  for (const endpoint of ["rekey/init", "generate-root/attempt"]) {
    const path = `/v1/sys/${endpoint}`;
    const started = await plain.call("POST", path, { body: keys });
    assert.equal(started.status, 200, started.text);
    // While one runs none can be started.
    assert.equal((await plain.call("POST", path, { body: keys })).status, 413, endpoint);
  }
  assert.equal((await plain.call("POST", "/v1/sys/init", { body: keys })).status, 413);
  const init = session.request({ ":path": "/v1/sys/init", ":method": "POST" });
  init.end(JSON.stringify(keys));
  assert.notEqual(await endOf(init), 413, "there is no key yet");
  // Of those only this one answers before there is a key. Not a byte of the body is sent.
  for (const endpoint of ["unseal"]) {
    const headers = { ":path": `/v1/sys/${endpoint}`, ":method": "POST" };
    const announced = session.request({ ...headers, "content-length": 1_000_000 });
    assert.equal(await endOf(announced), 413, endpoint);
    const unannounced = session.request(headers);
    unannounced.write("x".repeat(70 * KIBIBYTE));
    assert.equal(await endOf(unannounced), 413, endpoint);
  }
});
