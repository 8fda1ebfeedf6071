// Bytes that come in tiny pieces, hundreds in one turn of the event loop, over real TLS.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as plainConnect, type Socket } from "node:net";
import { Duplex } from "node:stream";
import test, { after, afterEach, before, describe } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { CertificateFiles, TestAuthority } from "../../tests/support/certificates.ts";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { get, makeFront, RawClient, request, type Front } from "../../tests/support/http-front.ts";
import { until } from "../../tests/support/until.ts";
import { SmallPieces } from "./small-pieces.ts";

/** Between the TLS of a client and the network. */
class Wire extends Duplex {
  readonly socket: Socket;
  #held: Buffer[] | null = null;

  constructor(socket: Socket) {
    super();
    this.socket = socket;
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => void this.push(bytes));
  }

  hold(): void {
    this.#held = [];
  }

  release(): void {
    this.socket.write(Buffer.concat(this.#held ?? []));
    this.#held = null;
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    if (this.#held === null) this.socket.write(bytes);
    else this.#held.push(bytes);
    done();
  }
}

describe("T-N03: tiny pieces", () => {
  let authority: TestAuthority;
  let files: CertificateFiles;
  let front: Front;

  before(async () => {
    authority = await TestAuthority.make();
    files = new CertificateFiles();
    files.write(await authority.issue("first", "0a"));
  });
  after(() => files.remove());
  afterEach(() => front.close());

  async function start(): Promise<void> {
    const { certFile, keyFile } = files;
    front = await makeFront({ tls: { certFile, keyFile }, http2: true });
  }

  async function connected(ALPNProtocols: string[]): Promise<TLSSocket> {
    const { port } = front;
    const socket = connect({ port, host: "127.0.0.1", ca: authority.pem, ALPNProtocols });
    await once(
      socket.on("error", () => {}),
      "secureConnect",
    );
    return socket;
  }

  /** Each write is a record of its own, and all of them go out together. */
  async function heldBack(): Promise<{ tls: TLSSocket; wire: Wire }> {
    const socket = plainConnect({ port: front.port, host: "127.0.0.1" });
    const wire = new Wire(socket);
    const tls = connect({ socket: wire, ca: authority.pem, servername: "localhost" });
    await once(
      tls.on("error", () => {}),
      "secureConnect",
    );
    tls.resume();
    return { tls, wire };
  }

  for (const [what, begin] of [
    ["a head", "GET /v1/sys/a HTTP/1.1\r\nHost: localhost\r\nX-A: "],
    ["a body", request("POST", "/v1/sys/a", "Content-Length: 5000")],
    ["nothing", ""],
  ] as const) {
    test(`hundreds of ${what} in one turn end the connection`, async () => {
      await start();
      const { tls, wire } = await heldBack();
      const closed = once(wire.socket, "close");
      wire.hold();
      const written = (bytes: string) => new Promise((resolve) => void tls.write(bytes, resolve));
      await written(begin === "" ? "\r\n" : begin);
      for (let i = 0; i < 300; i++) await written(what === "nothing" ? "\r\n" : "a");
      wire.release();
      await closed;
      await until(() => front.server.connections === 0);
    });
  }

  test("a client that writes its request in twenty pieces is answered", async () => {
    await start();
    const client = await RawClient.connectTls(front.port, { ca: authority.pem });
    for (const piece of get("/v1/sys/a").match(/.{1,3}/gs) ?? []) client.socket.write(piece);
    assert.equal((await client.answer()).status, 200);
    client.destroy();
  });

  test("hundreds of frames of a byte in one turn end the session", async () => {
    await start();
    const socket = await connected(["h2"]);
    const closed = once(socket.resume(), "close");
    const literal = (name: string, value: string) =>
      Buffer.concat([
        Buffer.of(0, name.length),
        Buffer.from(name),
        Buffer.of(value.length),
        Buffer.from(value),
      ]);
    const head = Buffer.concat([
      literal(":method", "POST"),
      literal(":scheme", "https"),
      literal(":authority", "localhost"),
      literal(":path", "/v1/sys/a"),
      literal("content-type", "application/json"),
    ]);
    const preface = [Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0)];
    socket.write(Buffer.concat([...preface, frame(1, 4, 1, head)]));
    await until(() => front.seen.length === 1);
    socket.write(
      Buffer.concat(Array.from({ length: 2000 }, () => frame(0, 0, 1, Buffer.from(" ")))),
    );
    await closed;
  });
});

function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

test("T-N03: what connections of one address may have together is bounded, and another's is its own", async () => {
  const pieces = new SmallPieces({ turn: nextTurn });
  const one = Buffer.alloc(1);
  const refused = (address: string) => {
    const watch = pieces.of(address);
    return Array.from({ length: 40 }, () => watch.isTooMuch(one)).filter(Boolean).length;
  };
  const counts = Array.from({ length: 5 }, () => refused("192.0.2.1"));
  assert.deepEqual(counts, [0, 0, 0, 24, 38]);
  assert.equal(refused("192.0.2.2"), 0);
  await nextTurn();
  await nextTurn();
  assert.equal(refused("192.0.2.1"), 0, "in each turn anew");
  const large = pieces.of("192.0.2.1");
  for (let i = 0; i < 1000; i++) assert.equal(large.isTooMuch(Buffer.alloc(64)), false);
});
