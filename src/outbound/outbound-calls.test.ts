// How calls go: connections that are kept, times, what is told of a call that came to nothing. Which
// addresses may be called, and hostile hosts: tests/threats/i/i-outbound.test.ts.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { FakeClock, FakeTimers } from "../../tests/support/fake-world.ts";
import {
  answer,
  OutboundStage,
  PUBLIC,
  PUBLIC_TOO,
  startHost,
} from "../../tests/support/servers/outbound-stage.ts";
import { OutboundCalls } from "./outbound-calls.ts";

const SECOND = 1_000_000_000n;

test("a request is sent as it was given, and its answer comes back whole", async (t) => {
  const host = await startHost(
    t,
    () => "HTTP/1.1 403 No\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 3\r\n\r\n\xffab",
  );
  const stage = new OutboundStage(t, { host });
  const got = await stage.send("http://name.example/a%2Fb/c?d=e&f", {
    method: "POST",
    headers: { "X-Given": "value" },
    body: "text é",
  });
  assert.deepEqual(got, {
    status: 403,
    headers: { "x-a": "1, 2", "content-length": "3" },
    body: Buffer.from([0xff, 0x61, 0x62]),
  });
  const [head = ""] = host.heads;
  assert.match(head, /^POST \/a%2Fb\/c\?d=e&f HTTP\/1\.1\r\n/);
  assert.match(head, /\r\nhost: name\.example\r\n/i);
  assert.match(head, /\r\nx-given: value\r\n/i);
  assert.match(head, /\r\ncontent-length: 7\r\n/i);
  assert.match(head, /\r\naccept-encoding: identity\r\n/i);
});

test("a method that may have a body says that it has none; GET says nothing", async (t) => {
  const host = await startHost(t, () => answer(""));
  const stage = new OutboundStage(t, { host });
  await stage.send("http://name.example/", { method: "DELETE" });
  assert.match(host.heads[0] ?? "", /content-length: 0/i);
  await stage.send("http://name.example/");
  assert.doesNotMatch(host.heads[1] ?? "", /content-length/i);
});

test("an answer in chunks is read to its end, up to the caller's own limit", async (t) => {
  const chunks =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  const host = await startHost(t, () => chunks);
  const stage = new OutboundStage(t, { host });
  assert.equal(String((await stage.send("http://name.example/")).body), "abcde");
  assert.equal(String((await stage.send("http://name.example/", { maxBytes: 5 })).body), "abcde");
  assert.equal((await stage.trouble("http://name.example/", { maxBytes: 4 })).trouble, "oversized");
});

test("requests one after the other share a connection, at the same time they do not", async (t) => {
  const host = await startHost(t, () => answer("a"));
  const stage = new OutboundStage(t, { host });
  for (let i = 0; i < 5; i += 1) await stage.send("http://name.example/");
  assert.equal(host.connections(), 1);
  assert.equal(stage.resolved.length, 1);
  await Promise.all([1, 2, 3].map(() => stage.send("http://name.example/")));
  assert.equal(host.connections(), 3);
});

test("an address that does not answer is left for the next one", async (t) => {
  const host = await startHost(t, () => answer("a"));
  const calls = new OutboundCalls({
    allow: [],
    dev: false,
    timers: new FakeTimers(new FakeClock()),
    resolve: () => Promise.resolve([PUBLIC, PUBLIC_TOO]),
    net: {
      connect: (to, signal) => {
        if (to.host === PUBLIC) return Promise.reject(new Error("nobody is there"));
        return real.connect({ host: "127.0.0.1", port: host.port }, signal);
      },
    },
  });
  t.after(() => calls.close());
  const { SystemNet } = await import("../system/net.ts");
  const real = new SystemNet();
  const url = new URL("http://name.example/");
  const { signal } = new AbortController();
  const sent = calls.for("m").send({ method: "GET", url, headers: {}, signal, plain: true });
  assert.equal((await sent).status, 200);
});

test("a host that does not take the connection is unreachable after ten seconds", async (t) => {
  const timers = new FakeTimers(new FakeClock());
  const calls = new OutboundCalls({
    allow: [],
    dev: false,
    timers,
    resolve: () => Promise.resolve([PUBLIC]),
    net: {
      connect: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(new Error("aborted")));
        }),
    },
  });
  t.after(() => calls.close());
  const url = new URL("https://name.example/");
  const { signal } = new AbortController();
  const sent = calls.for("m").send({ method: "GET", url, headers: {}, signal });
  let settled = false;
  const refused = assert.rejects(sent, { trouble: "unreachable" }).then(() => {
    settled = true;
  });
  await timers.advance(9n * SECOND);
  assert.equal(settled, false);
  await timers.advance(1n * SECOND);
  await refused;
  assert.equal(timers.armed, 0, "nothing is left behind");
});

test("a name service that never answers, or says nothing, is no reason to wait", async (t) => {
  const timers = new FakeTimers(new FakeClock());
  const net = { connect: () => Promise.reject(new Error("not reached")) };
  const made = (resolve: () => Promise<readonly string[]>) => {
    const calls = new OutboundCalls({ allow: [], dev: false, timers, net, resolve });
    t.after(() => calls.close());
    const url = new URL("https://name.example/");
    const { signal } = new AbortController();
    return calls.for("m").send({ method: "GET", url, headers: {}, signal });
  };
  await assert.rejects(
    made(() => Promise.resolve([])),
    { trouble: "unreachable" },
  );
  const failed = Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" });
  await assert.rejects(
    made(() => Promise.reject(failed)),
    {
      trouble: "unreachable",
      message: "name.example cannot be reached: ENOTFOUND",
    },
  );
  const many = Array.from({ length: 65 }, () => PUBLIC);
  await assert.rejects(
    made(() => Promise.resolve(many)),
    { trouble: "unreachable" },
  );
  const waiting = assert.rejects(
    made(() => new Promise(() => {})),
    { trouble: "unreachable" },
  );
  await timers.advance(10n * SECOND);
  await waiting;
});

test("a request that was sent and not answered in its time is lost", async (t) => {
  const timers = new FakeTimers(new FakeClock());
  const { promise, resolve } = Promise.withResolvers<void>();
  const host = await startHost(t, () => (resolve(), "HTTP/1.1 200 OK\r\n"));
  const stage = new OutboundStage(t, { host, timers });
  const lost = stage.trouble("http://name.example/secret", { within: 5_000 });
  await promise;
  await timers.advance(5n * SECOND);
  assert.deepEqual((({ trouble, message }) => [trouble, message])(await lost), [
    "lost",
    "name.example gave no whole answer: it took too long",
  ]);
  for (const socket of host.open) await new Promise((gone) => socket.once("close", gone));
});

test("a connection that is cut after the request is lost; one that is refused is unreachable", async (t) => {
  for (const said of ["", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"]) {
    const host = await startHost(t, (_, socket) => (socket.end(said), null));
    const stage = new OutboundStage(t, { host });
    assert.equal((await stage.trouble("http://name.example/")).trouble, "lost");
  }
  const nobody = new OutboundStage(t);
  assert.equal((await nobody.trouble("http://name.example/")).trouble, "unreachable");
});

test("the caller's signal ends a call, before and after it was sent", async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const host = await startHost(t, () => (resolve(), null));
  const stage = new OutboundStage(t, { host });
  const stop = new AbortController();
  const aborted = stage.trouble("http://name.example/", { signal: stop.signal });
  await promise;
  stop.abort();
  assert.equal((await aborted).trouble, "aborted");
  const late = await stage.trouble("http://name.example/", { signal: stop.signal });
  assert.equal(late.trouble, "aborted");
  assert.equal(host.heads.length, 1);
});

test("the caller's signal keeps nothing of a call that is over, answered or not", async (t) => {
  const host = await startHost(t, () => answer("fine"));
  const stage = new OutboundStage(t, { host });
  const { signal } = new AbortController();
  await stage.send("http://name.example/", { signal });
  assert.equal(getEventListeners(signal, "abort").length, 0);
  await stage.trouble("http://name.example/", { signal, maxBytes: 1 });
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("closing cuts what is under way, and nothing is called afterwards", async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const host = await startHost(t, () => (resolve(), null));
  const stage = new OutboundStage(t, { host });
  const cut = stage.trouble("http://name.example/");
  await promise;
  stage.calls.close();
  assert.equal((await cut).trouble, "lost");
  assert.equal((await stage.trouble("http://name.example/")).trouble, "unreachable");
  assert.equal(host.heads.length, 1);
});

test("an endpoint is a URL with a host, and says which field is wrong", (t) => {
  const { outbound } = new OutboundStage(t);
  const read = (text: string, plain = true) => outbound.endpoint("sts_endpoint", text, { plain });
  assert.equal(read("https://sts.example.com").href, "https://sts.example.com/");
  assert.equal(read("HTTP://STS.Example.com:8080/a/b").href, "http://sts.example.com:8080/a/b");
  assert.equal(read("http://[2606:4700::1111]:80").host, "[2606:4700::1111]");
  const wrong = ["", "sts.example.com", "//a", "ftp://a", "https://", "https:///a", "https://a b"];
  wrong.push("https://u@a", "https://u:p@a", "https://a?b", "https://a/?b", "https://a#b");
  wrong.push("https://a/#b", "https://a\\b", "https://a/\\b", "https://a:0", "https://a:65536");
  wrong.push("https://a:", "https://a.", "https://-a", "https://a..b", " https://a", "https://a\n");
  wrong.push("https://a/\r\nb", "https://münchen.example", `https://a/${"b".repeat(2048)}`);
  for (const text of wrong) {
    assert.throws(
      () => read(text),
      (error: unknown) =>
        error instanceof Failure &&
        error.kind === "invalid" &&
        error.message.startsWith("sts_endpoint: "),
      text,
    );
  }
  assert.throws(() => read("http://a.example", false), /sts_endpoint: must begin with https:/);
});
