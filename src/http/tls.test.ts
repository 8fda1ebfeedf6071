import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect as plainConnect, type Socket } from "node:net";
import { Duplex } from "node:stream";
import test, { after, afterEach, before, describe } from "node:test";
import { connect, type ConnectionOptions, type PeerCertificate, type TLSSocket } from "node:tls";
import { SECOND } from "@holdfast/shared/text/duration";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { CertificateFiles, TestAuthority, type Pem } from "../../tests/support/certificates.ts";
import {
  dataOf,
  get,
  makeFront,
  RawClient,
  request,
  type Front,
} from "../../tests/support/http-front.ts";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { until } from "../../tests/support/until.ts";
import type { ListenerSettings, TlsSettings } from "./listener-settings.ts";

describe("TLS", () => {
  let authority: TestAuthority;
  let first: Pem;
  let second: Pem;
  let files: CertificateFiles;
  let front: Front;

  before(async () => {
    authority = await TestAuthority.make();
    first = await authority.issue("first", "0a");
    second = await authority.issue("second", "0b");
    files = new CertificateFiles();
  });
  after(() => files.remove());
  afterEach(() => front.close());

  async function makeTlsFront(
    tls: Partial<TlsSettings> = {},
    settings: Partial<ListenerSettings> = {},
  ): Promise<Front> {
    files.write(first);
    const { certFile, keyFile } = files;
    return makeFront({ ...settings, tls: { certFile, keyFile, ...tls } });
  }

  function secure(options: ConnectionOptions = {}): Promise<RawClient> {
    return RawClient.connectTls(front.port, { ca: authority.pem, ...options });
  }

  function certificateOf(client: RawClient): PeerCertificate {
    assert.ok("getPeerCertificate" in client.socket);
    return (client.socket as TLSSocket).getPeerCertificate();
  }

  test("LIST works over TLS, split over records and taking turns with GET", async () => {
    front = await makeTlsFront();
    assert.match(front.bound.url, /^https:\/\/127\.0\.0\.1:\d+$/);
    const client = await secure();
    for (const verb of ["GET", "LIST", "LIST", "GET", "LIST"]) {
      assert.equal(dataOf(await client.ask(request(verb, "/v1/sys/a"))).verb, verb);
    }
    await client.send("LIS");
    await front.settled();
    assert.equal(dataOf(await client.ask(request("LIST", "/v1/sys/a").slice(3))).verb, "LIST");
    assert.equal((await client.ask(request("LINK", "/v1/sys/a"))).status, 405);
    assert.equal((await client.ask(request("LISK", "/v1/sys/a"))).status, 400);
    client.destroy();
  });

  test("browsers are told to come back over TLS only, unless the operator says otherwise", async () => {
    front = await makeTlsFront();
    const client = await secure();
    const hsts = "strict-transport-security";
    assert.equal((await client.ask(get("/v1/sys/a"))).headers.get(hsts), "max-age=31536000");
    front.bound.setResponseHeaders({ default: { "Strict-Transport-Security": "max-age=0" } });
    assert.equal((await client.ask(get("/v1/sys/a"))).headers.get(hsts), "max-age=0");
    client.destroy();
  });

  test("TLS 1.2 is spoken by default and 1.1 is not; the minimum can be raised", async () => {
    front = await makeTlsFront();
    const client = await secure({ maxVersion: "TLSv1.2" });
    assert.equal((await client.ask(get("/v1/sys/a"))).status, 200);
    client.destroy();
    await assert.rejects(
      secure({ maxVersion: "TLSv1.1", minVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" }),
    );
    await assert.rejects(secure({ maxVersion: "TLSv1.2", ciphers: "AES256-GCM-SHA384" }));
    await front.close();
    front = await makeTlsFront({ minVersion: "tls13" });
    await assert.rejects(secure({ maxVersion: "TLSv1.2" }));
  });

  test("T-N03: a handshake that does not get on is ended after 10 s, one that is done is not", async () => {
    front = await makeTlsFront();
    const idle = await RawClient.connect(front.port);
    const client = await secure();
    assert.equal((await client.ask(get("/v1/sys/a"))).status, 200);
    await front.settled();
    await front.world.timers.advance(9n * SECOND);
    assert.equal(idle.ended, false);
    await front.world.timers.advance(2n * SECOND);
    await idle.closed();
    assert.equal((await client.ask(get("/v1/sys/a"))).status, 200);
    client.destroy();
  });

  test("T-N03: a handshake is told from that of the same port to another address of ours", async () => {
    front = await makeTlsFront({}, { host: "0.0.0.0" });
    const { port } = front;
    const open = (host: string, localPort: number) => {
      const socket = plainConnect({ port, host, localAddress: "127.0.0.50", localPort });
      return once(socket, "connect").then(() => socket);
    };
    const first = await open("127.0.0.1", 0);
    const silent = await open("127.0.0.2", first.localPort!);
    await until(() => front.server.connections === 2);
    const client = connect({ socket: first, ca: authority.pem, servername: "localhost" });
    await once(client, "secureConnect");
    const closed = once(silent.resume(), "close");
    await front.world.timers.advance(11n * SECOND);
    await closed;
    assert.equal(front.server.connections, 1, "the one that is done stays");
    client.destroy();
  });

  /** The first message of a client. */
  function helloOf(options: ConnectionOptions = {}): Promise<Buffer> {
    return new Promise((resolve) => {
      const write = (bytes: Buffer, _: unknown, done: () => void) => {
        resolve(bytes);
        done();
      };
      const socket = new Duplex({ read: () => {}, write });
      connect({ socket, servername: "localhost", ...options }).on("error", () => {});
    });
  }

  async function plainSockets(from: readonly string[]): Promise<Socket[]> {
    const { port } = front;
    const sockets = await Promise.all(
      from.map(async (localAddress) => {
        const socket = plainConnect({ port, host: "127.0.0.1", localAddress });
        await once(
          socket.on("error", () => {}),
          "connect",
        );
        return socket;
      }),
    );
    await until(() => front.server.connections === sockets.length);
    for (let i = 0; i < 100; i++) await nextTurn(); // all are served, and wait for a hello
    return sockets;
  }

  for (const [how, before] of [
    ["at once", 0],
    ["with a byte, and go on at once", 1],
  ] as const) {
    test(`T-N03: handshakes that one address begins ${how} are not in front of the next one's`, async () => {
      front = await makeTlsFront();
      const from = [...Array.from({ length: 60 }, () => "127.0.0.9"), "127.0.0.7"];
      const sockets = await plainSockets(from);
      const hello = await helloOf();
      for (const socket of sockets) socket.write(hello.subarray(0, before));
      for (let i = 0; i < 100; i++) await nextTurn();
      const order: string[] = [];
      for (const [i, socket] of sockets.entries()) {
        socket.once("data", () => void order.push(from[i]!));
        socket.write(hello.subarray(before));
      }
      await until(() => order.length === sockets.length);
      const first = order.indexOf("127.0.0.7");
      assert.ok(first < 20, `${first} of the others first`);
      for (const socket of sockets) socket.destroy();
    });
  }

  test("T-N03: of one address few handshakes may begin a second time, for a key that we want instead", async () => {
    front = await makeTlsFront();
    const hello = await helloOf({ ecdhCurve: "ffdhe4096:X25519" });
    const from = Array.from({ length: 12 }, () => "127.0.0.9");
    const sockets = await plainSockets([...from, "127.0.0.7"]);
    let [ended, small] = [0, 0];
    for (const socket of sockets) {
      socket.once("data", ({ length }: Buffer) => void (small += length < 120 ? 1 : 0));
      socket.on("close", () => ended++);
      socket.write(hello);
    }
    await until(() => small === sockets.length && ended === 4);
    assert.equal(sockets.at(-1)?.destroyed, false, "another address has its own");
    // Who is done makes room for the next.
    for (const socket of sockets) socket.destroy();
    await until(() => front.server.connections === 0);
    for (let i = 0; i < 10; i++) {
      const again = { ecdhCurve: "ffdhe4096:X25519", localAddress: "127.0.0.9" };
      const client = await secure(again as ConnectionOptions);
      assert.equal((await client.ask(get("/v1/sys/a"))).status, 200);
    }
  });

  test("T-N06: rubbish, plain HTTP and odd server names in place of a handshake hurt nobody", async () => {
    front = await makeTlsFront();
    for (const bytes of [
      get("/v1/sys/a"),
      "\x16\x03\x01\xff\xff",
      "\0".repeat(5000),
      "\x80\x2e\x01",
    ]) {
      const bad = await RawClient.connect(front.port);
      await bad.send(bytes);
      bad.socket.end();
      await bad.closed();
    }
    for (const servername of ["a".repeat(250), "..", "xn--", "[::1]"]) {
      const socket = connect({
        port: front.port,
        host: "127.0.0.1",
        ca: authority.pem,
        servername,
      });
      await new Promise<void>((resolve) => {
        socket.on("error", () => resolve());
        socket.on("secureConnect", () => resolve());
      });
      socket.destroy();
    }
    const client = await secure();
    assert.equal((await client.ask(get("/v1/sys/a"))).status, 200);
    client.destroy();
  });

  test("a client certificate can be demanded: without a good one no request gets through", async () => {
    writeFileSync(files.clientCaFile, authority.pem);
    front = await makeTlsFront({ clientCaFile: files.clientCaFile, requireClientCert: true });
    const good = await secure(await authority.issue("client"));
    assert.equal((await good.ask(get("/v1/sys/a"))).status, 200);
    good.destroy();
    const stranger = await (await TestAuthority.make()).issue("client");
    for (const options of [{}, stranger]) {
      const answer = await secure(options).then(
        (client) => client.send(get("/v1/sys/a")).then(() => client.next()),
        () => null,
      );
      assert.equal(answer, null);
    }
    assert.equal(front.seen.length, 1);
  });

  test("where one is only asked for, none is fine, and one of a stranger is not", async () => {
    writeFileSync(files.clientCaFile, authority.pem);
    front = await makeTlsFront({ clientCaFile: files.clientCaFile });
    const none = await secure();
    assert.equal((await none.ask(get("/v1/sys/a"))).status, 200);
    none.destroy();
    const good = await secure(await authority.issue("client"));
    assert.equal((await good.ask(get("/v1/sys/a"))).status, 200);
    good.destroy();
    const stranger = await (await TestAuthority.make("CN=Other")).issue("client");
    const bad = await secure(stranger);
    await bad.send(get("/v1/sys/a"));
    assert.equal(await bad.next(), null);
  });

  test("a renewed certificate is used for new connections, while old ones stay as they are", async () => {
    front = await makeTlsFront();
    const old = await secure();
    assert.equal(certificateOf(old).subject.CN, "first");
    files.write(second);
    assert.deepEqual(await front.server.reload(), []);
    const fresh = await secure();
    assert.equal(certificateOf(fresh).subject.CN, "second");
    assert.equal((await old.ask(get("/v1/sys/a"))).status, 200);
    assert.equal((await fresh.ask(get("/v1/sys/a"))).status, 200);
    old.destroy();
    fresh.destroy();
  });

  test("a broken file is reported by name and changes nothing", async () => {
    front = await makeTlsFront();
    const broken: readonly [RegExp, () => void][] = [
      [
        /must be a certificate and its key/,
        () => writeFileSync(files.certFile, "not a certificate"),
      ],
      [
        /does not belong to the certificate/,
        () => files.write({ cert: second.cert, key: first.key }),
      ],
      [/must be a certificate and its key/, () => writeFileSync(files.keyFile, "")],
    ];
    for (const [expected, breakIt] of broken) {
      files.write(first);
      breakIt();
      const problems = await front.server.reload();
      assert.equal(problems.length, 1);
      assert.match(problems[0] ?? "", expected);
      assert.match(problems[0] ?? "", /server\.key/);
      const client = await secure();
      assert.equal(certificateOf(client).subject.CN, "first");
      client.destroy();
    }
  });

  test("a listener does not start with files that it cannot use", async () => {
    front = await makeTlsFront();
    const { certFile } = files;
    await assert.rejects(
      makeFront({ tls: { certFile, keyFile: "/nonexistent/server.key" } }),
      /server\.key does not exist/,
    );
  });

  test("the keys of session tickets are renewed twice a day", async () => {
    front = await makeTlsFront();
    const session = await new Promise<Buffer>((resolve) => {
      const socket = connect({ port: front.port, host: "127.0.0.1", ca: authority.pem });
      socket.on("session", (ticket) => {
        resolve(ticket);
        socket.destroy();
      });
      socket.write(get("/v1/sys/a"));
    });
    const reused = async () => {
      const client = await secure({ session });
      const { socket } = client;
      assert.ok("isSessionReused" in socket);
      const result = (socket as TLSSocket).isSessionReused();
      client.destroy();
      return result;
    };
    assert.equal(await reused(), true);
    await front.world.timers.advance(13n * 3600n * SECOND);
    assert.equal(await reused(), false);
  });

  test("T-N03: those that never finish their handshake count like others, and make room, the oldest first", async () => {
    front = await makeTlsFront({}, { limits: { connectionsPerLocalAddress: 2 } });
    const held = [];
    for (let i = 0; i < 2; i++) {
      held.push(await RawClient.connect(front.port));
      while (front.server.connections <= i) await front.settled();
    }
    const client = await secure();
    assert.equal((await client.ask(get("/v1/sys/a"))).status, 200);
    await held[0]?.closed();
    assert.equal(held[1]?.ended, false);
    assert.equal(front.server.connections, 2);
    for (const one of [...held, client]) one.destroy();
  });

  test("plain HTTP is answered in words, and logged once in a while", async () => {
    front = await makeTlsFront();
    for (let i = 0; i < 5; i++) {
      const client = await front.client();
      const body = "x".repeat(100_000);
      const answer = await client.ask(
        request("POST", "/v1/sys/a", `Content-Length: ${body.length}`) + body,
      );
      assert.equal(answer.status, 400);
      assert.equal(answer.headers.get("content-type"), "application/json");
      assert.equal(answer.headers.get("x-service-error"), "plain_http");
      assert.match(answer.body, /this port speaks HTTPS.*https:\/\//);
      client.destroy();
    }
    const warnings = () => front.world.lines.filter((line) => line.includes("plain HTTP came"));
    assert.equal(warnings().length, 1);
    await front.world.timers.advance(61n * SECOND);
    const late = await front.client();
    assert.equal((await late.ask(get("/v1/sys/a"))).status, 400);
    late.destroy();
    assert.equal(warnings().length, 2);
    assert.match(warnings()[1] ?? "", /times=5/);
    const secured = await secure();
    assert.equal((await secured.ask(get("/v1/sys/a"))).status, 200, "and TLS goes on");
    secured.destroy();
  });

  test("whoever speaks neither is closed without a word, at the end of its time at the latest", async () => {
    front = await makeTlsFront();
    for (const bytes of [
      "\u0000\u0001",
      "SSH-2.0-x\r\n",
      "get / http\r\n\r\n",
      `\u0016${"\0".repeat(5000)}`,
    ]) {
      const client = await front.client();
      await client.send(bytes);
      await client.closed();
      assert.doesNotMatch(client.received, /HTTP/);
    }
    const silent = await front.client();
    silent.socket.end();
    await silent.closed();
    while (front.server.connections > 0) await front.settled();
  });

  describe("a client that ends its side is let go when it has its answers, without the clock", () => {
    for (const beginning of ["", "\x16", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"]) {
      test(`in the middle of the handshake, after ${beginning.length} bytes`, async () => {
        front = await makeTlsFront();
        const client = await front.client();
        await client.send(beginning);
        await front.settled();
        client.socket.end();
        assert.equal(await front.left(), 0);
      });
    }

    test("that waits for an answer: it has it first", async () => {
      front = await makeTlsFront();
      front.script = async ({ signal, ended = signal }) => {
        if (!ended.aborted) await once(ended, "abort");
        return { result: new Reply({ at: "last" }) };
      };
      const client = await secure();
      await client.send(get("/v1/sys/a"));
      client.socket.end();
      assert.equal(dataOf(await client.answer()).at, "last");
      assert.equal(await front.left(), 0);
    });

    test("that spoke plain HTTP", async () => {
      front = await makeTlsFront();
      const client = await front.client();
      assert.equal((await client.ask(get("/v1/sys/a"))).status, 400);
      client.socket.end();
      assert.equal(await front.left(), 0);
    });

    test("before a body that nobody reads, and behind its answer", async () => {
      front = await makeTlsFront();
      for (const [bytes, status] of [
        [get("/v1/sys/a", "Content-Length: 5"), 400],
        [get("/v1/sys/a", "Transfer-Encoding: chunked"), 400],
        [get("/v1/sys/a"), 200],
      ] as const) {
        const client = await secure();
        assert.equal((await client.ask(bytes)).status, status);
        client.socket.end();
        assert.equal(await front.left(), 0);
      }
    });

    test("that speaks HTTP/2, or said it would", async () => {
      front = await makeTlsFront({}, { http2: true });
      for (const bytes of [
        "",
        "PRI * HT",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
      ]) {
        const client = await secure({ ALPNProtocols: ["h2"] });
        await client.send(bytes);
        for (let turn = 0; turn < 20; turn++) await nextTurn();
        client.socket.end();
        assert.equal(await front.left(), 0);
      }
    });
  });
});
