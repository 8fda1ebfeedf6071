// Threats I and N, calls that go out: which addresses are called, whose certificates are believed, who
// shares a connection, and what hostile answers come to.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import type { OutboundRequest } from "@holdfast/plugin-sdk/outbound";
import { type IssueOptions, TestAuthority } from "../../support/certificates.ts";
import { nextTurn } from "../../support/fake-world.ts";
import { until } from "../../support/until.ts";
import {
  answer,
  type Answering,
  OutboundStage,
  PUBLIC,
  PUBLIC_TOO,
  startHost,
} from "../../support/servers/outbound-stage.ts";

/** One place in many spellings; what is called must be none of them. */
const SPELLINGS: readonly string[] = [
  "127.0.0.1 127.1 127.0.1 127.0.0.01 0177.0.0.1 0x7f.0.0.1 0x7f000001 0X7F000001 2130706433",
  "017700000001 127.0.0.1. 0x7f.1 127.0.0x1 127.255.255.254 127.0.0.1%20 %31%32%37.0.0.1",
  "１２７.0.0.1 127。0。0。1 ①②⑦.0.0.1 0.0.0.0 0 0x0 00000 0.0 0.1.2.3 [::] [0:0:0:0:0:0:0:0] [::1]",
  "[0:0:0:0:0:0:0:1] [::0001] [0000::1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:127.0.0.1]",
  "[0:0:0:0:0:ffff:127.0.0.1] [::127.0.0.1] [::7f00:1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1]",
  "[2002:7f00:1::] [2001:0:7f00:1::] 169.254.169.254 169.254.43518 169.16689662 2852039166",
  "0xa9fea9fe 0xa9.0xfe.43518 0251.0376.0251.0376 025177524776 0xA9FEA9FE",
  "[::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [64:ff9b::a9fe:a9fe] [2002:a9fe:a9fe::]",
  "[fd00:ec2::254] [FD00:EC2::254] [fd00:0ec2::0254] 169.254.170.2 168.63.129.16 [fe80::1]",
  "[fe80::1%25eth0] [fec0::1] 10.0.0.1 172.16.0.1 192.168.0.1 100.64.0.1 100.100.100.200",
  "192.0.0.192 224.0.0.1 255.255.255.255 [ff02::1] [fc00::1] 0xc0.0xa8.0.1",
  "localhost%00.example.com 127.0.0.1\u0000 a@127.0.0.1 127.0.0.1\\@a",
].flatMap((line) => line.split(" "));

test("T-I03: no spelling of an inner address is called, as endpoint or as URL", async (t) => {
  assert.ok(SPELLINGS.length >= 60);
  const stage = new OutboundStage(t);
  for (const host of SPELLINGS) {
    for (const scheme of ["http", "https"]) {
      const text = `${scheme}://${host}/`;
      let url: URL | null = null;
      try {
        url = stage.outbound.endpoint("iam_endpoint", text, { plain: true });
      } catch (error) {
        assert.ok(error instanceof Failure && error.kind === "invalid", text);
        assert.match(error.message, /^iam_endpoint: /);
      }
      // What a library would make of the text is called even so.
      for (const one of [url, URL.parse(text)]) {
        if (one === null) continue;
        assert.equal((await stage.trouble(one.href)).trouble, "forbidden", text);
      }
    }
  }
  assert.deepEqual(stage.connected, []);
});

test("T-I03: an address is read as it is written, and in no other way", (t) => {
  const { outbound } = new OutboundStage(t, {
    allow: ["127.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254", "10.0.0.1"],
  });
  const usual = ["127.0.0.1", "169.254.169.254", "[::1]", "[fd00:ec2::254]", "10.0.0.1"];
  for (const host of usual) {
    assert.equal(outbound.endpoint("f", `http://${host}`, { plain: true }).hostname, host);
  }
  const odd = SPELLINGS.filter((host) => /^(0|0x|\d+$|127\.(1|0\.1)$|.*\.0\d|.*0x)/i.test(host));
  odd.push("010.8.4.4"); // 8.8.4.4 to some, 10.8.4.4 to others
  assert.ok(odd.length > 20);
  for (const host of odd.filter((one) => !/^0\.(0\.0\.0|1\.2\.3)$/.test(one))) {
    assert.throws(() => outbound.endpoint("f", `http://${host}`, { plain: true }), Failure, host);
  }
});

test("T-I03: a name is called when every address it stands for may be", async (t) => {
  const host = await startHost(t, () => answer("hello"));
  const addresses = SPELLINGS.map((one) => one.replace(/^\[|\]$/g, ""));
  let found: readonly string[] = [];
  const stage = new OutboundStage(t, { host, names: () => found });
  for (const address of [...addresses, "fe80::1%eth0", ""]) {
    for (const all of [[address], [PUBLIC, address], [address, PUBLIC]]) {
      found = all;
      assert.equal((await stage.trouble("http://name.example/")).trouble, "forbidden", address);
    }
  }
  assert.deepEqual(stage.connected, []);
  found = [PUBLIC, "2606:2800:220:1:248:1893:25c8:1946"];
  assert.equal((await stage.send("http://name.example/")).status, 200);
  assert.deepEqual(stage.connected, [`${PUBLIC}:80`]);
});

test("T-I03: the connection goes to the address that was judged, whatever the name says next", async (t) => {
  const host = await startHost(t, () => answer("hello", "Connection: close"));
  const answers = [[PUBLIC], ["127.0.0.1"], [PUBLIC_TOO], ["169.254.169.254"]];
  let requests = 0;
  const stage = new OutboundStage(t, { host, names: () => answers[requests++] ?? [] });
  assert.equal((await stage.send("http://name.example/")).status, 200);
  assert.equal((await stage.trouble("http://name.example/")).trouble, "forbidden");
  assert.equal((await stage.send("http://name.example/")).status, 200);
  assert.equal((await stage.trouble("http://name.example/")).trouble, "forbidden");
  assert.deepEqual(stage.connected, [`${PUBLIC}:80`, `${PUBLIC_TOO}:80`]);
  assert.equal(stage.resolved.length, 4, "once for each connection");
});

test("T-I03: a redirect is an answer, and nothing is called for it", async (t) => {
  const goals = ["http://127.0.0.1/", "http://169.254.169.254/latest/", "http://other.example/"];
  for (const status of [301, 302, 303, 307, 308]) {
    for (const goal of goals) {
      const head = `HTTP/1.1 ${status} Moved\r\nLocation: ${goal}\r\nContent-Length: 0\r\n\r\n`;
      const host = await startHost(t, () => head);
      const stage = new OutboundStage(t, { host });
      const got = await stage.send("http://name.example/");
      assert.deepEqual([got.status, got.headers["location"]], [status, goal]);
      assert.equal(stage.connected.length, 1);
    }
  }
});

test("T-I03: what is listed is called, and a network opens no more than it is", async (t) => {
  const host = await startHost(t, () => answer("hello"));
  const names = (name: string) => (name === "inner.example" ? ["10.1.2.3"] : ["169.254.169.254"]);
  const may = async (allow: readonly string[], url: string, dev = false) => {
    const stage = new OutboundStage(t, { host, allow, dev, names });
    return stage.send(url).then(
      () => true,
      () => false,
    );
  };
  const cases: readonly [allow: readonly string[], url: string, called: boolean][] = [
    [["10.0.0.0/8"], "http://10.1.2.3/", true],
    [["10.1.2.3"], "http://10.1.2.3:9000/", true],
    [["10.1.2.4"], "http://10.1.2.3/", false],
    [["10.0.0.0/8"], "http://inner.example/", true],
    [["inner.example"], "http://inner.example:9000/", true],
    [["Inner.Example."], "http://inner.example/", true],
    [["inner.example"], "http://10.1.2.3/", false],
    [["0.0.0.0/0", "::/0"], "http://10.1.2.3/", false],
    [["0.0.0.0/0", "::/0"], "http://127.0.0.1/", false],
    [["0.0.0.0/0", "::/0"], "http://169.254.169.254/", false],
    [["127.0.0.1"], "http://127.0.0.1/", true],
    [["::1"], "http://[::1]/", true],
    [["169.254.169.254"], "http://169.254.169.254/", true],
    [["meta.example"], "http://meta.example/", false],
    [["0.0.0.0/8"], "http://0.0.0.0/", false],
    [["64:ff9b::/96"], `http://[64:ff9b::808:404]/`, true],
    [["64:ff9b::/96"], `http://[64:ff9b::7f00:1]/`, false],
    [[], `http://${PUBLIC}/`, true],
    [[], `http://${PUBLIC}:8080/`, false],
    [[PUBLIC], `http://${PUBLIC}:8080/`, true],
  ];
  for (const [allow, url, called] of cases) {
    assert.equal(await may(allow, url), called, `${allow.join()} ${url}`);
  }
  assert.equal(await may([], "http://127.0.0.1:9000/", true), true, "dev mode");
  assert.equal(await may([], "http://10.1.2.3/", true), true, "dev mode");
  assert.equal(await may([], "http://169.254.169.254/", true), false, "dev mode");
});

test("T-I03: a machine's own addresses are called by who asks about itself, on connections apart", async (t) => {
  const host = await startHost(t, () => answer("identity"));
  const stage = new OutboundStage(t, { host });
  const metadata: Partial<OutboundRequest> = { metadata: true };
  for (const url of [
    "http://169.254.169.254/a",
    "http://[fd00:ec2::254]/",
    "http://169.254.170.2/",
  ]) {
    assert.equal((await stage.send(url, metadata)).status, 200, url);
    // The connection is still there, and not for everybody.
    assert.equal((await stage.trouble(url)).trouble, "forbidden", url);
  }
  for (const url of ["http://127.0.0.1/", "http://10.0.0.1/", "http://0.0.0.0/"]) {
    assert.equal((await stage.trouble(url, metadata)).trouble, "forbidden", url);
  }
});

test("T-I03: a URL with a user, a fragment or another scheme is not called", async (t) => {
  const stage = new OutboundStage(t);
  for (const url of [
    "http://a@name.example/",
    "http://a:b@name.example/",
    "http://name.example/#a",
  ]) {
    assert.equal((await stage.trouble(url)).trouble, "forbidden", url);
  }
  for (const url of ["ftp://name.example/", "file:///etc/passwd", "data:text/plain,a"]) {
    assert.equal((await stage.trouble(url)).trouble, "forbidden", url);
  }
  const { trouble } = await stage.trouble("http://name.example/", { plain: false });
  assert.equal(trouble, "forbidden");
  assert.deepEqual(stage.connected, []);
});

const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
const NAME = { type: "dns", value: "name.example" } as const;

async function verdict(
  t: test.TestContext,
  options: IssueOptions,
  { url = "https://name.example/", trusted = true } = {},
): Promise<string> {
  const authority = await TestAuthority.make();
  const other = await TestAuthority.make("CN=Another");
  const host = await startHost(t, () => answer("hello"), await authority.issue("a", "02", options));
  const authorities = [trusted ? authority.pem : other.pem];
  const stage = new OutboundStage(t, { host, authorities, dev: true });
  const { message, trouble } = await stage.send(url).then(
    ({ status }) => ({ trouble: "none", message: String(status) }),
    (error: unknown) => error as { message: string; trouble: string },
  );
  if (trouble !== "none") assert.equal(host.heads.length, 0, "not a byte of the request was sent");
  return `${trouble} ${message.slice(message.lastIndexOf(" ") + 1)}`;
}

test("T-I04: a certificate must be of the host, of now, for servers, and of an authority", async (t) => {
  const good = { names: [NAME], usages: [SERVER_AUTH] };
  assert.equal(await verdict(t, good), "none 200");
  assert.equal(await verdict(t, { ...good, from: -3, to: -2 }), "unreachable CERT_HAS_EXPIRED");
  assert.equal(await verdict(t, { ...good, from: 2, to: 3 }), "unreachable CERT_NOT_YET_VALID");
  const wrongName = "unreachable ERR_TLS_CERT_ALTNAME_INVALID";
  assert.equal(await verdict(t, good, { url: "https://other.example/" }), wrongName);
  assert.equal(await verdict(t, good, { url: `https://${PUBLIC}/` }), wrongName);
  assert.equal(await verdict(t, { ...good, names: [] }), wrongName, "a common name is no name");
  assert.equal(await verdict(t, { ...good, usages: [CLIENT_AUTH] }), "unreachable INVALID_PURPOSE");
  const unknown = await verdict(t, good, { trusted: false });
  assert.match(unknown, /^unreachable UNABLE_TO_/);
  const address = { names: [{ type: "ip", value: PUBLIC } as const] };
  assert.equal(await verdict(t, address, { url: `https://${PUBLIC}/` }), "none 200");
  assert.equal(await verdict(t, address, { url: `https://${PUBLIC_TOO}/` }), wrongName);
});

test("T-I04: a self-signed certificate is refused, also where the environment says otherwise", async (t) => {
  const authority = await TestAuthority.make();
  const host = await startHost(t, () => answer("hello"), await authority.issue("a"));
  const stage = new OutboundStage(t, { host, dev: true });
  const before = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
  try {
    // Nor by an option, should one reach it: there is none.
    const options = { rejectUnauthorized: undefined, agent: undefined };
    const refused = await stage.trouble("https://localhost/", options as object);
    assert.equal(refused.trouble, "unreachable");
    assert.match(refused.message, /^localhost cannot be reached: [A-Z_]+$/);
  } finally {
    if (before === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before;
  }
  assert.equal(host.heads.length, 0);
});

test("T-I05: two names at one address are verified each for itself", async (t) => {
  const authority = await TestAuthority.make();
  const requests: string[] = [];
  const pem = await authority.issue("a", "02", { names: [NAME] });
  const host = await startHost(t, () => answer("hello"), {
    ...pem,
    sni: (name) => requests.push(name),
  });
  const stage = new OutboundStage(t, { host, authorities: [authority.pem] });
  assert.equal((await stage.send("https://name.example/")).status, 200);
  // The first connection and its session are still good. They are not the other name's.
  assert.equal((await stage.trouble("https://other.example/")).trouble, "unreachable");
  assert.equal((await stage.send("https://name.example/")).status, 200);
  assert.deepEqual(requests, ["name.example", "other.example"]);
  assert.equal(host.heads.length, 2);
});

test("T-I05: a connection is used by one mount, for one endpoint, with one identity", async (t) => {
  const host = await startHost(t, (head) => answer(head));
  const stage = new OutboundStage(t, { host });
  const second = stage.calls.for("mount-2");
  const made = async (work: () => Promise<unknown>) => {
    const before = host.connections();
    await work();
    return host.connections() - before;
  };
  const first = "http://name.example/";
  assert.equal(await made(() => stage.send(first, { identity: "a" })), 1);
  assert.equal(await made(() => stage.send(`${first}path`, { identity: "a" })), 0, "the same");
  assert.equal(await made(() => stage.send(first, { identity: "b" })), 1, "another identity");
  assert.equal(await made(() => stage.send(first, { identity: "a" }, second)), 1, "another mount");
  assert.equal(await made(() => stage.send("http://other.example/", { identity: "a" })), 1);
  assert.equal(await made(() => stage.send(first, { identity: "a" })), 0, "still there");
});

test("T-N11: nothing in a header, a method or a URL makes a second line", async (t) => {
  const host = await startHost(t, (head) => answer(head));
  const stage = new OutboundStage(t, { host });
  const url = "http://name.example/";
  const values = [
    "a\r\nb: c",
    "a\nb",
    "a\rb",
    "a\0b",
    "a\u0100b",
    "a\u{10a0d}",
    "\u000b",
    "\u007f",
  ];
  for (const value of values) {
    const headers = { "x-a": value };
    assert.equal(
      (await stage.trouble(url, { headers })).trouble,
      "forbidden",
      JSON.stringify(value),
    );
    assert.equal(
      (await stage.trouble(url, { headers: { [`x${value}`]: "a" } })).trouble,
      "forbidden",
    );
    assert.equal((await stage.trouble(url, { method: `GET${value}` })).trouble, "forbidden");
  }
  for (const name of ["transfer-encoding", "Connection", "upgrade", "expect", "te", "trailer"]) {
    const refused = await stage.trouble(url, { headers: { [name]: "chunked" } });
    assert.equal(refused.trouble, "forbidden", name);
  }
  const lies: Record<string, string>[] = [
    { host: "other.example" },
    { "content-length": "7" },
    { "x-a": "1", "X-A": "2" },
    { "x-a": "a".repeat(17 * 1024) },
  ];
  for (const headers of lies) {
    const refused = await stage.trouble(url, { method: "POST", headers, body: "abc" });
    assert.equal(refused.trouble, "forbidden", Object.keys(headers).join());
  }
  assert.deepEqual(host.heads, []);
  // Who signs a request repeats these; they are true.
  const headers = { host: "name.example", "Content-Length": "3" };
  await stage.send(`${url}a%0d%0ab?c=\r\nd`, { method: "POST", headers, body: "abc" });
  assert.match(host.heads[0] ?? "", /^POST \/a%0d%0ab\?c=d HTTP\/1\.1\r\n/);
});

/** What answers come to; in all of them the connection is dropped. */
const HOSTILE: Readonly<Record<string, readonly [trouble: string, said: string]>> = {
  "a long body with its length": ["oversized", answer("x".repeat(1_048_577))],
  "a length alone": ["oversized", "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"],
  "long chunks": [
    "oversized",
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${`10000\r\n${"x".repeat(65_536)}\r\n`.repeat(17)}`,
  ],
  "a body without an end": ["oversized", `HTTP/1.1 200 OK\r\n\r\n${"x".repeat(1_048_577)}`],
  "long headers": ["oversized", `HTTP/1.1 200 OK\r\nX-A: ${"x".repeat(16_384)}\r\n\r\n`],
  "many headers": ["oversized", `HTTP/1.1 200 OK\r\n${"X-A: b\r\n".repeat(3_000)}\r\n`],
  "an encoding": ["lost", answer("x", "Content-Encoding: gzip")],
  "chained encodings": ["lost", answer("x", "Content-Encoding: gzip, br, gzip, br")],
  "encodings in two lines": [
    "lost",
    answer("x", "Content-Encoding: identity", "Content-Encoding: br"),
  ],
  "an encoding of the transfer": [
    "lost",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
  ],
  "two lengths": ["lost", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"],
  "a length and chunks": [
    "lost",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
  ],
  "a bare line feed": ["lost", "HTTP/1.1 200 OK\nContent-Length: 1\n\nx"],
  "another protocol": ["lost", "SSH-2.0-OpenSSH_9.6\r\n"],
  "a switch of protocols": [
    "lost",
    "HTTP/1.1 101 Switching\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n",
  ],
  "a tunnel's answer with a bad header": ["lost", "HTTP/1.1 200 OK\r\nX-\0A: b\r\n\r\n"],
};

test("T-N11: hostile answers are errors, and their connections are dropped", async (t) => {
  for (const [name, [trouble, said]] of Object.entries(HOSTILE)) {
    const host = await startHost(t, () => said);
    const stage = new OutboundStage(t, { host });
    const met = await stage.trouble("http://name.example/secret-path?key=secret");
    assert.equal(met.trouble, trouble, name);
    assert.match(met.message, /^name\.example /, name);
    assert.doesNotMatch(met.message, /secret/, name);
    await nextTurn();
    assert.deepEqual([stage.sockets.length, stage.sockets[0]?.destroyed], [1, true], name);
  }
});

test("T-N11: an answer that nobody asked for is never the answer to the next request", async (t) => {
  const forged = answer("forged");
  const together: Answering = (head) =>
    head.includes("/first") ? answer("true") + forged : answer("true");
  const host = await startHost(t, together);
  const stage = new OutboundStage(t, { host });
  await stage.send("http://name.example/first").catch(() => {});
  assert.equal(String((await stage.send("http://name.example/next")).body), "true");

  // Or it comes while the connection rests.
  const later = await startHost(t, () => answer("true"));
  const other = new OutboundStage(t, { host: later });
  assert.equal(String((await other.send("http://name.example/first")).body), "true");
  const [theirs] = later.open;
  const [ours] = other.sockets;
  assert.ok(theirs !== undefined && ours !== undefined);
  const before = ours.bytesRead;
  theirs.write(forged);
  await until(() => ours.destroyed || ours.bytesRead !== before);
  assert.equal(String((await other.send("http://name.example/next")).body), "true");
  assert.equal(later.connections(), 2);
});
