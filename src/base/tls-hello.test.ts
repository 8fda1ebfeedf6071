// When the first message of a TLS client is whole, however it is cut.

import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import test from "node:test";
import { connect } from "node:tls";
import fc from "fast-check";
import { Hello, serverNameOf } from "./tls-hello.ts";

/** A message in records that end at these places of it. */
function inRecords(message: Buffer, ends: readonly number[]): Buffer {
  const places = [
    ...new Set([...ends.filter((end) => end > 0 && end < message.length), message.length]),
  ];
  let from = 0;
  const records = places
    .toSorted((a, b) => a - b)
    .map((end) => {
      const part = message.subarray(from, end);
      from = end;
      return Buffer.concat([Buffer.of(0x16, 3, 1, part.length >> 8, part.length & 255), part]);
    });
  return Buffer.concat(records);
}

function messageOf(length: number): Buffer {
  return Buffer.concat([Buffer.of(1, 0, length >> 8, length & 255), Buffer.alloc(length, 7)]);
}

test("T-N03: it is whole when its last byte has come, in whatever records and pieces, and not before", () => {
  fc.assert(
    fc.property(
      fc.nat(3000),
      fc.array(fc.nat(3003), { maxLength: 6 }),
      fc.array(fc.nat(4000), { maxLength: 20 }),
      fc.nat(100),
      (length, ends, cuts, more) => {
        const hello = inRecords(messageOf(length), ends);
        const bytes = Buffer.concat([hello, Buffer.alloc(more)]);
        const reader = new Hello();
        let from = 0;
        for (const to of [...new Set([...cuts.filter((cut) => cut > 0), bytes.length])].toSorted(
          (a, b) => a - b,
        )) {
          if (to > bytes.length) break;
          const state = reader.add(bytes.subarray(from, to));
          from = to;
          assert.equal(state, to >= hello.length ? "whole" : "more", `${to} of ${hello.length}`);
          if (state === "whole") break;
        }
        assert.ok(reader.bytes.equals(bytes.subarray(0, from)));
      },
    ),
  );
});

test("T-N03: what is none is not waited for", () => {
  const states = (...pieces: Buffer[]) => {
    const reader = new Hello();
    return pieces.map((piece) => reader.add(piece)).at(-1);
  };
  assert.equal(states(Buffer.from("GET / HTTP/1.1\r\n")), "none");
  assert.equal(states(Buffer.of(0x16, 3, 1, 0, 0)), "none", "a record without anything");
  assert.equal(states(Buffer.of(0x16, 3, 1, 0, 4, 2, 0, 0, 0)), "none", "another message");
  assert.equal(
    states(inRecords(messageOf(10), [2]).fill(0x17, 7, 8)),
    "none",
    "another record in between",
  );
  const long = Buffer.concat([Buffer.of(0x16, 3, 1, 0x40, 0, 1, 0xff, 0, 0), Buffer.alloc(16_380)]);
  assert.equal(states(long, long, long), "none", "longer than any");
  const hello = inRecords(messageOf(3000), []);
  const bytes = Array.from({ length: 64 }, (_, i) => hello.subarray(i, i + 1));
  assert.equal(states(...bytes), "none", "in more pieces than anybody needs");
  assert.equal(states(...bytes.slice(1, 3), Buffer.alloc(0)), "none");
});

/** What a client of this machine says first. */
async function helloOf(servername: string): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const socket = new Duplex({
    read() {},
    write: (chunk: Buffer, _encoding, done) => {
      resolve(chunk);
      done();
    },
  });
  const client = connect({ socket, servername, rejectUnauthorized: false });
  client.on("error", () => {});
  const hello = await promise;
  client.destroy();
  return hello;
}

test("the name that is asked for is found, in whatever records, and nothing in what has none", async () => {
  const hello = await helloOf("set.example");
  assert.equal(serverNameOf(hello), "set.example");
  const message = hello.subarray(5);
  const places = fc.array(fc.nat(message.length), { maxLength: 6 });
  fc.assert(
    fc.property(places, (ends) => serverNameOf(inRecords(message, ends)) === "set.example"),
  );
  assert.equal(serverNameOf(await helloOf("")), null);
  assert.equal(serverNameOf(inRecords(messageOf(0), [])), null);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      const name = serverNameOf(inRecords(Buffer.from([1, 0, 0, ...bytes]), []));
      return name === null || name.length > 0;
    }),
  );
});
