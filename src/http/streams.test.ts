import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test, { afterEach, describe } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { StreamBody } from "@holdfast/shared/endpoint/stream";
import { SECOND } from "@holdfast/shared/text/duration";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { until } from "../../tests/support/until.ts";
import { makeFront, type Front } from "../../tests/support/http-front.ts";

const MIB = 1024 * 1024;
const RULES = {
  contentTypes: ["application/octet-stream"],
  maxBytes: 64 * MIB,
  description: "bytes",
};

// A stream that stands still is a failure, and not the end of the run.
const BOUND = { timeout: 300_000 };

let front: Front;

async function start(): Promise<void> {
  front = await makeFront();
  front.streamed = RULES.maxBytes;
}

function head(length: number | null, type = "application/octet-stream"): string {
  const framing = length === null ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`;
  return `POST /v1/sys/a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: ${type}\r\n${framing}\r\n\r\n`;
}

async function turns(count = 200): Promise<void> {
  for (let i = 0; i < count; i++) await nextTurn();
}

describe("a body that is handed on while it comes", BOUND, () => {
  afterEach(() => front.close());

  test("is larger than what may lie in memory, arrives whole and in order", async () => {
    await start();
    const sum = createHash("sha256");
    front.script = async (incoming) => {
      const body = incoming.stream(RULES);
      let bytes = 0;
      for await (const chunk of body) {
        bytes += chunk.length;
        sum.update(chunk);
      }
      return { result: new Reply({ bytes, length: body.length }) };
    };
    const client = await front.client();
    const sent = Buffer.alloc(5 * MIB, "0123456789abcdef!");
    void client.send(head(sent.length)).then(() => client.send(sent));
    const answer = await client.answer();
    assert.equal(answer.status, 200);
    assert.match(answer.body, new RegExp(`"bytes":${sent.length},"length":${sent.length}`));
    assert.equal(sum.digest("hex"), createHash("sha256").update(sent).digest("hex"));
  });

  test("is read no faster than the handler takes it", async () => {
    await start();
    const gate = Promise.withResolvers<void>();
    front.script = async (incoming) => {
      let bytes = 0;
      for await (const chunk of incoming.stream(RULES)) {
        if (bytes === 0) await gate.promise;
        bytes += chunk.length;
      }
      return { result: new Reply({ bytes }) };
    };
    const client = await front.client();
    const sent = Buffer.alloc(16 * MIB, 1);
    void client.send(head(sent.length)).then(() => client.send(sent));
    const end = await front.endOf(client);
    await until(() => end.bytesRead >= 1000);
    await turns(2000);
    assert.ok(end.bytesRead < 2 * MIB, `${end.bytesRead} bytes were taken in`);
    gate.resolve();
    assert.match((await client.answer()).body, new RegExp(`"bytes":${sent.length}`));
  });

  test("is refused by its type, by its announced length, and when more comes than may", async () => {
    await start();
    front.script = async (incoming) => {
      let bytes = 0;
      for await (const chunk of incoming.stream({ ...RULES, maxBytes: 2 * MIB })) {
        bytes += chunk.length;
      }
      return { result: new Reply({ bytes }) };
    };
    const ask = async (bytes: string | Buffer) => {
      const client = await front.client();
      void client.send(bytes);
      return client.answer();
    };
    assert.equal((await ask(head(10, "application/json"))).status, 415);
    assert.equal((await ask(head(RULES.maxBytes + 1))).status, 413, "before anybody is asked");
    assert.equal((await ask(head(2 * MIB + 1))).status, 413, "by the handler's own limit");
    const chunk = Buffer.concat([
      Buffer.from(`${(3 * MIB).toString(16)}\r\n`),
      Buffer.alloc(3 * MIB, 7),
      Buffer.from("\r\n0\r\n\r\n"),
    ]);
    assert.equal((await ask(Buffer.concat([Buffer.from(head(null)), chunk]))).status, 413);
  });

  test("ends with an error for the handler when the client goes away", async () => {
    await start();
    const seen = Promise.withResolvers<unknown>();
    front.script = async (incoming) => {
      try {
        for await (const _ of incoming.stream(RULES));
      } catch (error) {
        seen.resolve(error);
      }
      return { result: new Reply(undefined) };
    };
    const client = await front.client();
    await client.send(head(100_000));
    await client.send(Buffer.alloc(1000));
    await front.settled();
    client.socket.destroy();
    const error = await seen.promise;
    assert.ok(error instanceof Failure);
    assert.equal(error.code, "body-incomplete");
  });

  test("T-N03: one that drips is 408 however long the handler may take, and the handler is told", async () => {
    await start();
    const seen = Promise.withResolvers<unknown>();
    front.script = async (incoming) => {
      const body = incoming.stream(RULES);
      incoming.allow(24n * 3600n * SECOND);
      try {
        for await (const _ of body);
      } catch (error) {
        seen.resolve(error);
      }
      return { result: new Reply(undefined) };
    };
    for (const before of [0, 8 * MIB]) {
      const client = await front.client();
      await client.send(head(16 * MIB));
      await client.send(Buffer.alloc(before));
      await front.settled();
      for (let i = 0; i < 5; i++) {
        await client.send("x");
        await front.settled();
        assert.equal(client.received, "", `${i} bytes after ${before}`);
        await front.world.timers.advance(5n * SECOND);
      }
      await client.send("x");
      await front.settled();
      await front.world.timers.advance(6n * SECOND);
      const answer = await client.answer();
      assert.equal(answer.status, 408, `after ${before}`);
      assert.match(answer.body, /too slowly: .* 65536 bytes a second, or has caught up .* 30s/);
      await front.world.timers.advance(3n * SECOND);
      const error = await seen.promise;
      assert.ok(error instanceof Failure);
      assert.equal(error.code, "client-too-slow");
      assert.equal(front.server.inFlight, 0);
    }
  });

  test("T-N03: what the handler takes its time for is not held against the client", async () => {
    await start();
    let take = Promise.withResolvers<void>();
    let taken = 0;
    front.script = async (incoming) => {
      const body = incoming.stream(RULES);
      incoming.allow(24n * 3600n * SECOND);
      let bytes = 0;
      for await (const chunk of body) {
        bytes += chunk.length;
        taken++;
        await take.promise;
      }
      return { result: new Reply({ bytes }) };
    };
    const client = await front.client();
    await client.send(head(4));
    for (let i = 1; i <= 4; i++) {
      await client.send("x");
      await until(() => taken === i);
      await front.world.timers.advance(3600n * SECOND);
      assert.equal(client.ended, false, `after ${i} hours`);
      const waiting = take;
      take = Promise.withResolvers<void>();
      waiting.resolve();
    }
    take.resolve();
    assert.match((await client.answer()).body, /"bytes":4/);
  });

  test("may take as long as it gets on, and no longer", async () => {
    await start();
    front.script = async (incoming) => {
      let bytes = 0;
      for await (const chunk of incoming.stream(RULES)) bytes += chunk.length;
      return { result: new Reply({ bytes }) };
    };
    const client = await front.client();
    const part = Buffer.alloc(MIB);
    await client.send(head(20 * MIB));
    for (let i = 0; i < 10; i++) {
      await client.send(part); // 16 s of the lowest rate each
      await front.settled();
      await front.world.timers.advance(15n * SECOND);
    }
    assert.equal(client.ended, false, "150 s, over what a request may take");
    await front.world.timers.advance(40n * SECOND);
    const answer = await client.answer();
    assert.equal(answer.status, 408);
  });
});

describe("an answer that is made while it is sent", BOUND, () => {
  afterEach(() => front.close());

  async function* counted(
    count: number,
    chunk: Uint8Array,
    made: { count: number; over: boolean },
  ) {
    try {
      for (; made.count < count; made.count++) yield chunk;
    } finally {
      made.over = true;
    }
  }

  const GET = "GET /v1/sys/a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

  test("goes out whole, with its length or in chunks, and the connection goes on", async () => {
    await start();
    const made = { count: 0, over: false };
    for (const length of [undefined, 3 * 100_000]) {
      front.script = () => {
        made.count = 0;
        const source = counted(3, Buffer.alloc(100_000, "~"), made);
        const options = length === undefined ? {} : { length };
        const body = new StreamBody("application/octet-stream", source, options);
        return { family: "bare", result: new Reply(body) };
      };
      const client = await front.client();
      await client.send(GET);
      if (length !== undefined) {
        const answer = await client.answer();
        assert.equal(answer.headers.get("content-type"), "application/octet-stream");
        assert.equal(answer.body.length, length);
        assert.equal((await client.ask(GET)).status, 200);
      } else {
        await until(() => client.received.endsWith("\r\n0\r\n\r\n"));
        assert.match(client.received, /transfer-encoding: chunked/i);
        assert.equal(client.received.match(/~/g)?.length, 3 * 100_000);
      }
    }
  });

  test("is made no faster than it is read", async () => {
    await start();
    const made = { count: 0, over: false };
    front.script = () => {
      const source = counted(2000, Buffer.alloc(65_536), made);
      return {
        family: "bare",
        result: new Reply(new StreamBody("application/octet-stream", source)),
      };
    };
    const client = await front.client();
    client.socket.pause();
    await client.send(GET);
    await turns(3000);
    assert.ok(made.count > 0 && made.count < 400, `${made.count} of 2000 pieces were made`);
    assert.equal(made.over, false);
    client.socket.resume();
    await until(() => made.over);
    assert.equal(made.count, 2000);
  });

  test("ends with the client: what makes it is told", async () => {
    await start();
    const made = { count: 0, over: false };
    front.script = () => {
      const source = counted(100_000, Buffer.alloc(65_536), made);
      return {
        family: "bare",
        result: new Reply(new StreamBody("application/octet-stream", source)),
      };
    };
    const client = await front.client();
    client.socket.pause();
    await client.send(GET);
    await until(() => made.count > 0);
    client.socket.destroy();
    await until(() => made.over);
    assert.ok(made.count < 100_000);
  });

  test("is cut off, never ended, when it cannot be finished or has another length", async () => {
    await start();
    const sources: [AsyncIterable<Uint8Array>, { length?: number }][] = [
      [failing(), {}],
      [counted(1, Buffer.alloc(10), { count: 0, over: false }), { length: 20 }],
      [counted(3, Buffer.alloc(10), { count: 0, over: false }), { length: 20 }],
    ];
    for (const [source, options] of sources) {
      front.script = () => ({
        family: "bare",
        result: new Reply(new StreamBody("application/octet-stream", source, options)),
      });
      const client = await front.client();
      await client.send(GET);
      await until(() => client.ended);
      assert.doesNotMatch(client.received, /\r\n0\r\n\r\n$/);
    }
    const lines = front.world.lines.join("\n");
    assert.match(lines, /an answer was cut off/);
    assert.doesNotMatch(lines, /hunter2/, "the message of a foreign error is not told");
  });

  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(10);
    throw new Error("hunter2");
  }

  test("is given up when the client reads too slowly", async () => {
    await start();
    const made = { count: 0, over: false };
    front.script = () => {
      const source = counted(100_000, Buffer.alloc(65_536), made);
      return {
        family: "bare",
        result: new Reply(new StreamBody("application/octet-stream", source)),
      };
    };
    const client = await front.client();
    client.socket.pause();
    await client.send(GET);
    await turns(3000);
    await front.world.timers.advance(59n * SECOND);
    assert.equal(made.over, false);
    await front.world.timers.advance(3n * SECOND);
    await until(() => made.over);
  });

  test("nothing is made for a HEAD", async () => {
    await start();
    const made = { count: 0, over: false };
    const body = new StreamBody("application/octet-stream", counted(5, Buffer.alloc(1), made));
    front.script = () => ({ family: "bare", headOnly: true, result: new Reply(body) });
    const client = await front.client();
    await client.send(GET.replace("GET", "HEAD"));
    await body.ended;
    assert.equal(made.count, 0);
  });
});
