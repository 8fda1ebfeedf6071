// Requests that are dear to judge: rules, programs and questions about rights at the limits of what may be
// stored, asked with texts that are made to be dear. Each was once, or is of the kind of one that was, a way to
// hold everybody up. Some are searched for: periodic texts, many patterns, many parts, many rules, by seed.

import { Prng } from "../../sim/prng.ts";
import { at } from "../../tests/support/http-client.ts";
import type { Payload } from "./hostile-payloads.ts";
import type { ObservedServer } from "../observed-server.ts";

const MAX_BODY = 1024 * 1024;
// Refused or done, whatever it is: what counts is that nobody waits for it.
const ANSWERED = [200, 204, 400, 403, 404, 413, 429, 503] as const;
const SEARCHED = 12;

type Write = readonly [method: string, path: string, body: object];

/** Writes what they are asked against, and gives them with the tokens they are asked with. */
export async function hostileRules(server: ObservedServer, seed: number): Promise<Payload[]> {
  await server.expect(204, "POST", "sys/mounts/one", {
    body: { type: "kv", options: { version: "1" } },
  });
  await server.expect(204, "POST", "sys/auth/userpass", { body: { type: "userpass" } });
  const random = new Prng(seed);
  const clients = new Map<string, string>();
  for (const [name, policy] of Object.entries(policies())) {
    await server.expect(204, "POST", `sys/policies/acl/${name}`, { body: { policy } });
    const others = name === "maker" ? Object.keys(makers()) : [];
    const body = { policies: [name, ...others], ttl: "1h" };
    const made = await server.expect(200, "POST", "auth/token/create", { body });
    clients.set(name, String(at(made, "auth", "client_token")));
  }
  for (const [name, program] of Object.entries(programs())) {
    const policy = { policy: program, paths: [`one/${name}`], enforcement_level: "hard-mandatory" };
    // With a warning: on a made-up request there is no such field.
    await server.expect(200, "POST", `sys/policies/egp/${name}`, { body: policy });
  }
  const of = (policy: string) => clients.get(policy);
  const asks = [
    ...parameters().map((ask) => [...ask, of("patterns")] as const),
    ...searches().map((ask) => [...ask, of("everything")] as const),
    ...questions().map((ask) => [...ask, of("plus")] as const),
    ...ready().map((ask) => [...ask, of("ready")] as const),
    ...children().map((ask) => [...ask, of("maker")] as const),
    ...found(random).map(
      (ask) => [...ask, of(random.int(2) === 0 ? "patterns" : "everything")] as const,
    ),
  ];
  return [
    ...asks.map(([name, write, token]) => payload(name, write, token)),
    ...writes().map(([name, write]) => payload(name, write, undefined)),
  ];
}

function payload(name: string, [method, path, body]: Write, client: string | undefined): Payload {
  const text = Buffer.from(JSON.stringify(body));
  return {
    name: `rules: ${name}`,
    bytes: (token) => {
      const known = token === null ? [] : [`X-Service-Token: ${client ?? token}`];
      const wraps = path === "sys/wrapping/wrap" ? ["X-Service-Wrap-TTL: 60s"] : [];
      const head = [
        `${method} /v1/${path} HTTP/1.1`,
        "Host: localhost",
        ...known,
        ...wraps,
        "Content-Type: application/json",
        `Content-Length: ${text.length}`,
      ];
      return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), text]);
    },
    right: ANSWERED,
    rightWithout: ANSWERED,
    ...(path.startsWith("sys/policies/") ? { undo: { method: "DELETE", path } } : {}),
  };
}

const range = <T>(count: number, make: (i: number) => T) =>
  Array.from({ length: count }, (_, i) => make(i));

function policies(): Record<string, string> {
  const patterns = (count: number) => JSON.stringify(range(count, (i) => `*a${i}b*`));
  const long = (count: number) =>
    JSON.stringify(range(count, (i) => `*${`${i}x`.padEnd(54, "ab")}*`));
  const plus = (count: number) =>
    range(count, (i) => `path "one/+/r${i % 97}/+/s${i}" { capabilities = ["read"] }`).join("\n");
  return {
    everything: 'path "*" { capabilities = ["create", "read", "update", "delete", "list"] }',
    patterns: `path "one/*" {
  capabilities = ["create", "update"]
  denied_parameters = { p = ${patterns(100)} }
  allowed_parameters = { q = ${patterns(100)} "*" = [] }
}`,
    ready: `path "one/*" {
  capabilities = ["create", "update"]
  denied_parameters = { ${range(15, (n) => `p${n} = ${long(250)}`).join(", ")} }
}`,
    ...makers(),
    plus: `${plus(4000)}\npath "sys/capabilities-self" { capabilities = ["update"] }`,
  };
}

/** Rules that hide others, or might: a child of who has them is compared with all of them. */
function makers(): Record<string, string> {
  const brief = (path: string, word: string) => `path "${path}"{capabilities=["${word}"]}`;
  const deep = "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t";
  return {
    maker: [
      brief("auth/token/create", "update"),
      ...range(1000, (i) => brief(`+/zz${i}/a/b/c`, "read")),
      ...range(1000, (i) => brief(`+/+/+/+/l${i}*`, "read")),
    ].join("\n"),
    hiding: range(2800, (i) => brief(`+/k0_${i}/${deep}/*`, "update")).join("\n"),
    alike: range(2800, (i) => brief(`one/+/+/+/k${i}*`, "update")).join("\n"),
  };
}

function programs(): Record<string, string> {
  return {
    last: "request.data.a.lastIndexOf(request.data.b) == 1",
    first: "request.data.a.indexOf(request.data.b) == 1",
    contains: "request.data.a.contains(request.data.b)",
    split: "request.data.a.split(request.data.b).size() == 1",
    replace: 'request.data.a.replace(request.data.b, "") == ""',
    matches: "request.data.a.matches('(a+)+b')",
  };
}

/** Parameters that have hundreds of patterns each. */
function ready(): (readonly [string, Write])[] {
  const body = Object.fromEntries(range(15, (n) => [`p${n}`, "q"]));
  return [["fifteen parameters of many patterns", ["POST", "one/x", body]]];
}

function children(): (readonly [string, Write])[] {
  const body = { policies: ["maker"], ttl: "1m" };
  return [["a child among thousands of rules", ["POST", "auth/token/create", body]]];
}

/** One parameter of many parts against many patterns. */
function parameters(): (readonly [string, Write])[] {
  const parts = `${"a,".repeat(500_000)}a`;
  const long = range(5000, (i) => `a${i}${"x".repeat(180)}`);
  return ["p", "q"].flatMap((name) => [
    [`a million characters of parts in ${name}`, ["POST", "one/x", { [name]: parts }]] as const,
    [`five thousand long texts in ${name}`, ["POST", "one/x", { [name]: long }]] as const,
    [`one long text in ${name}`, ["POST", "one/x", { [name]: "a1".repeat(500_000) }]] as const,
  ]);
}

/** Texts that repeat themselves, which naive search looks at again and again. */
function searches(): (readonly [string, Write])[] {
  const a = "a".repeat(600_000);
  const needles = {
    tail: `${"a".repeat(30_000)}b`,
    head: `b${"a".repeat(30_000)}`,
    middle: `${"a".repeat(15_000)}b${"a".repeat(15_000)}`,
    short: "ab",
  };
  return Object.keys(programs()).flatMap((path) =>
    Object.entries(needles).map(
      ([kind, b]) => [`${path} of a ${kind} needle`, ["POST", `one/${path}`, { a, b }]] as const,
    ),
  );
}

function questions(): (readonly [string, Write])[] {
  const paths = range(1000, (i) => `one/${i}/r${i % 97}/x/s${i}/y`);
  return [
    ["a thousand paths against many rules with +", ["POST", "sys/capabilities-self", { paths }]],
    [
      "a thousand deep paths",
      ["POST", "sys/capabilities-self", { paths: paths.map((p) => `${p}${"/z".repeat(20)}`) }],
    ],
  ];
}

/** As root, who may write what is dear for others. */
function writes(): (readonly [string, Write])[] {
  const blocks = (count: number) =>
    range(count, (i) => `path "one/p${i}/*" { capabilities = ["read", "list"] }`).join("\n");
  const values = JSON.stringify(range(16_000, (i) => `*a${i}*`));
  const many = `path "one/*" { capabilities = ["read"] denied_parameters = { p = ${values} } }`;
  const wrapped = { a: "x".repeat(MAX_BODY - 100) };
  return [
    ["a policy of 9,000 blocks", ["POST", "sys/policies/acl/big", { policy: blocks(9000) }]],
    ["a policy of 16,000 patterns", ["POST", "sys/policies/acl/big", { policy: many }]],
    ["a wrapping of 1 MiB", ["POST", "sys/wrapping/wrap", wrapped]],
    ["a login that must be checked", ["POST", "auth/userpass/login/nobody", { password: "x" }]],
  ];
}

/** More of their kind, by dice: words of a few letters repeated, of which many begin alike. */
function found(random: Prng): (readonly [string, Write])[] {
  const word = (max: number) =>
    range(1 + random.int(max), () => "ab,"[random.int(3)] ?? "a").join("");
  return range(SEARCHED, (i) => {
    const unit = word(12);
    const text = unit.repeat(Math.floor(600_000 / unit.length));
    const needle = unit.repeat(1 + random.int(Math.floor(20_000 / unit.length))) + word(4);
    const program = Object.keys(programs())[random.int(6)] ?? "last";
    const body =
      random.int(2) === 0 ? { a: text, b: needle } : { p: text, q: [needle, text.slice(0, 9000)] };
    return [`searched ${i} (${program})`, ["POST", `one/${program}`, body]] as const;
  });
}
