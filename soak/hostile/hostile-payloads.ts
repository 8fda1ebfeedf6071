// The catalogue of hostile requests: T-N01, T-N02, T-N06, T-N07, T-N09 and T-G05, at every limit and
// beyond it, as raw bytes. Each says what it must be answered, with a token and without.

import { filled, hostileBodies, MAX_BODY } from "./hostile-bodies.ts";
import { type HostileKey, hostileKeys } from "./hostile-keys.ts";

export interface Payload {
  readonly name: string;
  /** The whole request; null for a caller without a token. */
  readonly bytes: (token: string | null) => Buffer;
  /** Statuses that are right with a token, and without one. */
  readonly right: readonly number[];
  readonly rightWithout: readonly number[];
  /** To be sent after each wave, to have the next one begin as this one did. */
  readonly undo?: { readonly method: string; readonly path: string };
}

const DONE = [200, 204] as const;
const REFUSED = [400] as const;
const TOO_LARGE = [413] as const;
/** Bytes, where no token is needed; more only where keys of people are sent that can be used now. */
const MAX_OPEN_BODY = 64 * 1024;
const DENIED = [403] as const;
const HEADER_ROOM = 16 * 1024;

interface Request {
  readonly method?: string;
  readonly target: string;
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
  /** The body as it stands on the wire, framing included. */
  readonly framed?: Buffer;
}

function request({ method = "GET", target, headers = [], body, framed }: Request) {
  const payload = body === undefined ? (framed ?? Buffer.alloc(0)) : Buffer.from(body);
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const length = body === undefined ? [] : [`Content-Length: ${payload.length}`];
  const typed = body === undefined && framed === undefined ? [] : [`Content-Type: ${type}`];
  return (token: string | null) => {
    const known = token === null ? [] : [`X-Service-Token: ${token}`];
    const lines = ["Host: localhost", ...known, ...typed, ...length, ...headers];
    const head = `${method} ${target} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
    return Buffer.concat([Buffer.from(head, "latin1"), payload]);
  };
}

export async function hostilePayloads(): Promise<Payload[]> {
  return [
    ...bodies(),
    ...fields(),
    ...heads(),
    ...targets(),
    ...framings(),
    ...(await hostileKeys()).flatMap(ceremonies),
    ...answers(),
  ];
}

/** Any JSON within the limits is accepted here: unknown fields are ignored and told. */
function bodies(): Payload[] {
  return hostileBodies().flatMap(({ name, body, good }) => [
    {
      name: `namespace: ${name}`,
      bytes: request({ method: "POST", target: "/v1/sys/namespaces/hostile", body }),
      right: good ? DONE : REFUSED,
      rightWithout: DENIED,
    },
    {
      name: `unseal: ${name}`,
      bytes: request({ method: "POST", target: "/v1/sys/unseal", body }),
      ...openly(body.length, good ? DONE : REFUSED),
    },
  ]);
}

/** Whoever needs no token may send less, and whether one is sent changes nothing. */
function openly(length: number, right: readonly number[]): Pick<Payload, "right" | "rightWithout"> {
  const sized = length > MAX_OPEN_BODY ? TOO_LARGE : right;
  return { right: sized, rightWithout: sized };
}

/** Values that an endpoint looks at itself, as large as a body can be. */
function fields(): Payload[] {
  const big = "x".repeat(MAX_BODY - 100);
  // 8,192 bytes of JSON are accepted; one character more in each is one byte too many.
  const metadata = (count: number, value = 57) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, i) => [String(i).padStart(64, "k"), "v".repeat(value)]),
    );
  const options = Object.fromEntries(
    Array.from({ length: 1000 }, (_, i) => [`o${i}`, "x".repeat(900)]),
  );
  const table: readonly [method: string, path: string, body: object, right: readonly number[]][] = [
    ["POST", "sys/namespaces/hostile", { custom_metadata: metadata(64) }, [200]],
    ["POST", "sys/namespaces/hostile", { custom_metadata: metadata(65, 1) }, REFUSED],
    ["POST", "sys/namespaces/hostile", { custom_metadata: metadata(64, 58) }, REFUSED],
    ["PATCH", "sys/namespaces/hostile", { custom_metadata: metadata(64) }, [200]],
    ["PATCH", "sys/namespaces/hostile", { custom_metadata: metadata(1000) }, REFUSED],
    ["POST", "sys/namespaces/hostile", { custom_metadata: { a: big } }, REFUSED],
    ["POST", "sys/audit/hostile", { type: "file", options }, REFUSED],
    ["POST", "sys/audit/hostile", { type: big }, REFUSED],
    ["POST", "sys/audit/hostile", { type: "file", options: { file_path: big } }, REFUSED],
    ["POST", "sys/audit-hash/file", { input: big }, [200, 429]],
    ["POST", "sys/quotas/config", { rate_limit_exempt_paths: ",".repeat(big.length) }, REFUSED],
    ["POST", "sys/quotas/config", { rate_limit_exempt_paths: "a,".repeat(500_000) }, REFUSED],
    ["POST", "sys/quotas/config", { rate_limit_exempt_paths: [big] }, REFUSED],
    ["POST", "sys/quotas/rate-limit/hostile", { rate: "9".repeat(big.length) }, REFUSED],
    ["POST", "sys/quotas/rate-limit/hostile", { rate: 1, path: "/".repeat(1024) }, REFUSED],
    ["POST", "sys/quotas/rate-limit/hostile", { rate: 1, interval: "1h".repeat(400_000) }, REFUSED],
    [
      "POST",
      "sys/quotas/rate-limit/hostile",
      { rate: 1, interval: "0".repeat(big.length) },
      REFUSED,
    ],
    ["POST", "sys/config/cors", { allowed_origins: "http://a,".repeat(100_000) }, REFUSED],
    ["POST", "sys/config/cors", { allowed_origins: [big] }, REFUSED],
    ["POST", "sys/config/ui/headers/X-Hostile", { values: [big] }, REFUSED],
    ["POST", "sys/config/ui/headers/X-Hostile", { values: ",".repeat(big.length) }, REFUSED],
    ["POST", "sys/rotate/config", { interval: "1.".repeat(400_000) }, REFUSED],
    ["POST", "sys/rotate/config", { max_operations: "1".repeat(big.length) }, REFUSED],
    ["POST", "sys/loggers", { level: big }, REFUSED],
  ];
  const open: typeof table = [
    ["POST", "sys/unseal", { key: big }, TOO_LARGE],
    ["POST", "sys/unseal", { key: "f".repeat(1024) }, DONE],
    ["POST", "sys/init", { secret_shares: "1".repeat(big.length) }, TOO_LARGE],
    ["POST", "sys/init", { pgp_keys: "a,".repeat(500_000) }, TOO_LARGE],
    ["POST", "sys/rekey/init", { secret_shares: 255, pgp_keys: ",".repeat(254) }, REFUSED],
    ["POST", "sys/rekey/init", { pgp_keys: ",".repeat(big.length) }, REFUSED],
    ["POST", "sys/rekey/update", { key: "f".repeat(1024), nonce: "n".repeat(128) }, REFUSED],
    ["POST", "sys/generate-root/attempt", { otp: big }, REFUSED],
  ];
  const made = (rows: typeof table, without: readonly number[] | null): Payload[] =>
    rows.map(([method, path, body, right]) => ({
      name: `${method} ${path}: ${sketch(body)}`,
      bytes: request({ method, target: `/v1/${path}`, body: JSON.stringify(body) }),
      right,
      rightWithout: without ?? right,
    }));
  return [...made(table, DENIED), ...made(open, null)];
}

function sketch(body: object): string {
  const text = JSON.stringify(body);
  return text.length < 60 ? text : `${text.slice(0, 40)}… (${text.length})`;
}

function heads(): Payload[] {
  const target = "/v1/sys/namespaces/hostile";
  const row = (
    name: string,
    headers: readonly string[],
    right: readonly number[],
    rightWithout = right,
  ): Payload => ({
    name: `head: ${name}`,
    bytes: request({ target, headers }),
    right,
    rightWithout,
  });
  const many = (count: number) => Array.from({ length: count }, (_, i) => `X-H${i}: ${i}`);
  const namespace = (value: string) => [`X-Service-Namespace: ${value}`];
  return [
    row("60 headers", many(60), [200, 404], DENIED),
    row("1,000 headers", many(1000), [400, 431]),
    row("2,000 empty headers", many(2000), [400, 431]),
    row("a header of 15 KiB", [`X-Long: ${"x".repeat(15 * 1024)}`], [200, 404], DENIED),
    row("a header of 17 KiB", [`X-Long: ${"x".repeat(17 * 1024)}`], [431]),
    row("a header of 1 MiB", [`X-Long: ${"x".repeat(MAX_BODY)}`], [431]),
    row("a second token of 9 KiB", [`X-Vault-Token: ${"t".repeat(9 * 1024)}`], [400, 431]),
    row("a header __proto__", ["__proto__: x"], [400]),
    row("a header constructor", ["constructor: x"], REFUSED),
    row("a namespace of slashes", namespace("/".repeat(8000)), REFUSED),
    row("a namespace of 4,000 names", namespace("a/".repeat(4000)), [400, 403, 404], [400, 403]),
    row("a namespace __proto__", namespace("__proto__"), [403, 404], DENIED),
    row("a wrap time of 8 KiB", [`X-Service-Wrap-TTL: ${"1h".repeat(4000)}`], REFUSED),
    row("8 KiB of proxies", [`X-Forwarded-For: ${"1.2.3.4, ".repeat(900)}`], [200, 404], DENIED),
    row("an origin of 8 KiB", [`Origin: http://${"a.".repeat(4000)}`], DENIED),
    row("a host twice", ["Host: other"], REFUSED),
    row("a length twice", ["Content-Length: 0", "Content-Length: 0"], REFUSED),
    row("a body with GET", ["Content-Length: 1"], REFUSED),
    row("a body of 1 TB", ["Content-Length: 1000000000000"], [400, 413]),
  ];
}

function targets(): Payload[] {
  const row = (
    name: string,
    target: string,
    right: readonly number[],
    rightWithout: readonly number[] = right,
  ): Payload => ({
    name: `target: ${name}`,
    bytes: request({ target }),
    right,
    rightWithout,
  });
  const path = "/v1/sys/namespaces/";
  const query = (count: number) =>
    Array.from({ length: count }, (_, i) => `p${i.toString(36)}=1`).join("&");
  return [
    row("1,024 bytes", `${path}${"abcdefg/".repeat(24)}${"a".repeat(200)}`, [400, 404], [400, 403]),
    row("2,000 bytes", `${path}${"a".repeat(2000)}`, REFUSED),
    row("15 KiB", `${path}${"a/".repeat(7500)}`, REFUSED),
    row("64 KiB", `${path}${"a".repeat(65536)}`, [431]),
    row("escapes", `${path}${"%C3%A9".repeat(150)}`, [400, 404], [400, 403]),
    row("bad escapes", `${path}${"%2e%2E/".repeat(100)}x`, REFUSED),
    row("overlong escapes", `${path}${"%C0%AF".repeat(100)}`, REFUSED),
    row("a query of 15 KiB", `${path}a?${"q".repeat(15_000)}`, [200, 400, 404], [400, 403]),
    row("2,000 parameters", `${path}a?${query(2000)}`, [200, 400, 404], [400, 403]),
    row("one parameter 3,000 times", `${path}a?${"a=1&".repeat(3000)}a=1`, [200, 400], [400, 403]),
    row(
      "__proto__ in the query",
      `${path}a?__proto__=1&constructor=1`,
      [200, 400, 404],
      [400, 403],
    ),
    row("health by 900 parameters", `/v1/sys/health?${query(900)}`, [200, 400]),
    row("health by an odd code", `/v1/sys/health?activecode=${"9".repeat(5000)}`, REFUSED),
  ];
}

/** How a body is cut on the wire. */
function framings(): Payload[] {
  const chunked = (framed: Buffer, path: string) =>
    request({
      method: "POST",
      target: `/v1/${path}`,
      headers: ["Transfer-Encoding: chunked"],
      framed,
    });
  const body = filled('{"a":"', "x", '"}');
  const small = filled('{"a":"', "x", '"}', 100_000);
  const tiny = (text: string, extension = "") =>
    Buffer.from(`${Array.from(text, (c) => `1${extension}\r\n${c}\r\n`).join("")}0\r\n\r\n`);
  const whole = (text: string) =>
    Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`);
  const flood = Buffer.from(`2;${"x".repeat(1024 * 1024)}\r\n{}\r\n0\r\n\r\n`);
  const trailers = Buffer.from(`2\r\n{}\r\n0\r\n${"X-T: 1\r\n".repeat(10_000)}\r\n`);
  const table: readonly [string, Buffer, readonly number[]][] = [
    ["1 MiB in one chunk", whole(body), DONE],
    ["1 MiB and a byte in one chunk", whole(`${body} `), [413]],
    ["1 MiB in chunks of one byte", tiny(body), [413]],
    ["100,000 chunks with extensions", tiny(small, ";a=bcdefghijklmnop"), [...DONE, 413]],
    ["an extension of 1 MiB", flood, [413]],
    ["10,000 trailers", trailers, [200, 204, 400, 431]],
  ];
  return table.flatMap(([name, framed, right]) => [
    {
      name: `unseal: ${name}`,
      bytes: chunked(framed, "sys/unseal"),
      // Trailers are no part of the body.
      ...openly(framed === trailers ? 0 : framed.length, right),
    },
    {
      name: `namespace: ${name}`,
      bytes: chunked(framed, "sys/namespaces/hostile"),
      right,
      rightWithout: [400, 403, 413, 431],
    },
  ]);
}

/** Keys for a ceremony, which on loopback needs no token. */
function ceremonies({ name, keys, good }: HostileKey): Payload[] {
  const [key = ""] = keys;
  const start = (path: string, keyed: object): Payload => {
    const body = JSON.stringify(keyed);
    const judged = good ? [200, 400, 409] : REFUSED;
    // While another one runs.
    const right = body.length > MAX_OPEN_BODY ? [...judged, ...TOO_LARGE] : judged;
    return {
      name: `${path}: ${name}`,
      bytes: request({ method: "POST", target: `/v1/${path}`, body }),
      right,
      rightWithout: right,
      ...(good ? { undo: { method: "DELETE", path } } : {}),
    };
  };
  const root = { secret_shares: 1, secret_threshold: 1, root_token_pgp_key: key };
  const init = JSON.stringify(root);
  return [
    start("sys/generate-root/attempt", { pgp_key: key }),
    start("sys/rekey/init", {
      secret_shares: keys.length,
      secret_threshold: Math.min(2, keys.length),
      pgp_keys: keys,
    }),
    {
      name: `sys/init: ${name}`,
      bytes: request({ method: "POST", target: "/v1/sys/init", body: init }),
      ...openly(init.length, REFUSED),
    },
  ];
}

/** Answers that are dear to make. */
function answers(): Payload[] {
  const row = (
    target: string,
    right: readonly number[],
    without: readonly number[],
    method = "GET",
  ) => ({
    name: `${method} ${target}`,
    bytes: request({ method, target }),
    right,
    rightWithout: without,
  });
  return [
    row("/v1/sys/internal/specs/openapi", [200], [200]),
    row("/v1/sys/internal/ui/namespaces", [200], [200]),
    row("/v1/sys/metrics", [200], DENIED),
    row("/v1/sys/metrics?format=prometheus", [200], DENIED),
    row("/v1/sys/host-info", [200], DENIED),
    row("/v1/sys/in-flight-req", [200], DENIED),
    row("/v1/sys/config/state/sanitized", [200], DENIED),
    row("/v1/sys/namespaces", [200], DENIED, "LIST"),
    row("/v1/sys/namespaces?help=1", [200], [200, 403]),
    row(`/ui/${"a".repeat(HEADER_ROOM / 2)}`, [400, 404], [400, 404]),
  ];
}
