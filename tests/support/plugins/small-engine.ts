// An engine by the wire of others alone: keys and values in the storage of its mount, secrets that end, logins, and whatever tests
// want of a plugin that it does badly.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, writeSync } from "node:fs";
import { networkInterfaces } from "node:os";
import type { ClientSession } from "@holdfast/shared/grpc/client-session";
import { type Call, callUnary, type Served, serveUnary } from "@holdfast/shared/grpc/method";
import { backend } from "@holdfast/plugin-sdk/wire/backend";
import {
  auth as authCodec,
  ErrorType,
  handleRequestReply,
  paths,
  type ProtoError,
  type LeaseOptions,
  response as responseCodec,
  type WireAuth,
  type WireRequest,
  type WireResponse,
} from "@holdfast/plugin-sdk/wire/backend-messages";
import { MULTIPLEX_ID } from "@holdfast/plugin-sdk/wire/processes";
import { READ_ONLY_STORAGE, storage } from "@holdfast/plugin-sdk/wire/storage";
import { systemView } from "@holdfast/plugin-sdk/wire/system-view";

const EMPTY = new Uint8Array();
const NOTHING = responseCodec.decode(EMPTY);
const NO_WRAPPING = {
  ttl: 0n,
  token: "",
  accessor: "",
  creationTime: null,
  wrappedAccessor: "",
  wrappedEntityId: "",
  format: "",
  creationPath: "",
  sealWrap: false,
};
const SECOND = 1_000_000_000n;

const NO_TIMES = { ttl: 0n, maxTtl: 0n, renewable: true, increment: 0n, issueTime: 0n };

const MAX_BEGUN = 1000;

interface Answer {
  readonly response: WireResponse | null;
  readonly err: ProtoError | null;
  /** Sent in its place: so many bytes that mean nothing. */
  readonly bytes?: number;
}

/** More than any text can be. */
const sizes = new WeakMap<object, number>();
const anySize: typeof backend.handleRequest = {
  ...backend.handleRequest,
  response: {
    ...handleRequestReply,
    encode: (said) => {
      const size = sizes.get(said);
      return size === undefined ? handleRequestReply.encode(said) : Buffer.alloc(size);
    },
  },
};

interface Instance {
  readonly host: () => Promise<ClientSession>;
  readonly config: ReadonlyMap<string, string>;
}

/** Of one process. `log`: a file in which every call is noted. */
export class SmallEngine {
  readonly #instances = new Map<string, Instance>();
  readonly #log: string | null;
  readonly #transactions = new Map<string, string>();
  #invalidated: string[] = [];

  constructor(log: string | null) {
    this.#log = log;
  }

  setUp(id: string, config: ReadonlyMap<string, string>, host: () => Promise<ClientSession>): void {
    this.#instances.set(id, { config, host });
    this.#note(`setup ${config.get("plugin_version") ?? ""}`);
  }

  get services(): readonly Served<null>[] {
    return [
      serveUnary(backend.specialPaths, async () => ({
        paths: {
          ...paths.decode(EMPTY),
          root: ["config", "root/*"],
          unauthenticated: ["login", "open/*", "half"],
          localStorage: ["here/"].map((folder) => `${folder}*`),
        },
      })),
      serveUnary(backend.initialize, async (_, call) => {
        this.#note("initialize");
        const { config } = this.#of(call);
        const refuses = config.get("refuses") ?? "";
        const [, file] = /^initialize while (.+)$/.exec(refuses) ?? [];
        if (refuses === "initialize" || (file !== undefined && existsSync(file))) {
          return { err: errorOf(ErrorType.internal, "it does not want to begin") };
        }
        // Another cluster may write what it keeps.
        const err = await this.#tried(call, "begun", "yes");
        if (err !== "" && err !== READ_ONLY_STORAGE) throw new Refused(err);
        return { err: null };
      }),
      serveUnary(backend.cleanup, async (_, call) => {
        this.#note("cleanup");
        this.#instances.delete(call.metadata(MULTIPLEX_ID) ?? "");
        return {};
      }),
      serveUnary(backend.invalidateKey, async ({ key }) => {
        this.#invalidated.push(key);
        return {};
      }),
      serveUnary(backend.handleExistenceCheck, async ({ request }, call) => {
        const path = request?.path ?? "";
        this.#note(`exists ${path}`);
        if (!path.startsWith("kv/")) return { checkFound: false, exists: false, err: null };
        return { checkFound: true, exists: (await this.#get(call, path)) !== null, err: null };
      }),
      serveUnary(anySize, async ({ request }, call) => {
        if (request === null) throw new Error("no request");
        this.#note(`${request.operation} ${request.path}`);
        const { bytes, ...said } = await this.#answer(request, call);
        const reply = { ...handleRequestReply.decode(EMPTY), ...said };
        if (bytes !== undefined) sizes.set(reply, bytes);
        return reply;
      }),
    ];
  }

  /** What storage refuses is the answer, as the public library has it. */
  async #answer(request: WireRequest, call: Call<null>): Promise<Answer> {
    try {
      return await this.#handle(request, call);
    } catch (error) {
      if (error instanceof Refused) return refusal(ErrorType.unknown, error.message);
      throw error;
    }
  }

  /** Calls to storage, one after the other, as the request has them: names of transactions stand for what `begin` has given. */
  async #storage(request: WireRequest, call: Call<null>): Promise<unknown[]> {
    const { calls } = JSON.parse(request.data) as { calls: readonly (readonly string[])[] };
    const host = await this.#of(call).host();
    const said: unknown[] = [];
    for (const [what = "", name = "", key = "", more = ""] of calls) {
      const txn = this.#transactions.get(name) ?? name;
      const begins = what === "begin" ? storage.beginTx : storage.beginReadOnlyTx;
      switch (what) {
        case "transactional":
          said.push((await callUnary(host, storage.isTransactional, {})).transactional);
          break;
        case "begin":
        case "begin to read": {
          const begun = await callUnary(host, begins, {});
          this.#transactions.set(name, begun.txn);
          said.push(begun.err);
          break;
        }
        case "get": {
          const { entry, err } = await callUnary(host, storage.get, { key, txn });
          said.push(err || (entry === null ? null : Buffer.from(entry.value).toString()));
          break;
        }
        case "put": {
          const entry = { key, value: Buffer.from(more), sealWrap: false };
          said.push((await callUnary(host, storage.put, { entry, txn })).err);
          break;
        }
        case "delete":
          said.push((await callUnary(host, storage.delete, { key, txn })).err);
          break;
        case "list": {
          const { keys, err } = await callUnary(host, storage.list, { prefix: key, txn });
          said.push(err || keys);
          break;
        }
        case "page": {
          const [after = "", limit = ""] = more.split(" ");
          const page = { prefix: key, after, limit: Number(limit), txn };
          const { keys, err } = await callUnary(host, storage.listPage, page);
          said.push(err || keys);
          break;
        }
        case "commit":
          said.push((await callUnary(host, storage.commit, { txn })).err);
          break;
        case "roll back":
          said.push((await callUnary(host, storage.rollback, { txn })).err);
          break;
      }
    }
    return said;
  }

  async #handle(request: WireRequest, call: Call<null>): Promise<Answer> {
    const { operation, path } = request;
    const [first = "", ...rest] = path.split("/");
    switch (operation) {
      case "help":
        return await documentation(this.#of(call).config.get("documents") ?? "");
      case "rollback":
        return data({});
      case "renew":
      case "revoke":
        return await this.#endOrRenew(request, call);
    }
    switch (first) {
      case "kv":
      case "here":
        return await this.#keys(request, call);
      case "creds":
        return await this.#creds(request, call);
      case "values": // a length, as engines for keys and values tell it
        return answer({
          data: JSON.stringify({ value: 1 }),
          secret: {
            leaseOptions: {
              ttl: 900n * SECOND,
              maxTtl: 0n,
              renewable: false,
              increment: 0n,
              issueTime: 0n,
            },
            internalData: "null",
            leaseId: "",
          },
        });
      case "variable":
        return data({ value: process.env[rest[0] ?? ""] ?? null });
      case "storage":
        return data({ said: await this.#storage(request, call) });
      case "login":
        return await this.#login(request);
      case "echo":
      case "open":
      case "config":
      case "root":
        return data(seen(request));
      case "headers": {
        const said = Object.keys(seen(request).headers);
        const headers = new Map([
          ["X-Answer", { header: ["one", "two"] }],
          ["X-Kept", { header: ["for itself"] }],
        ]);
        return answer({ data: JSON.stringify({ said }), headers });
      }
      case "system":
        return data(await this.#system(call));
      case "fails":
        return fails(rest.join("/"));
      case "hog": {
        const kept: Buffer[] = [];
        while (kept.length < 4096) kept.push(Buffer.alloc(2 ** 20, 1));
        return data({ taken: kept.length });
      }
      case "bombs":
        return data(await bomb());
      case "bytes":
        return { response: null, err: null, bytes: Number(rest[0]) };
      case "late":
        return await this.#late(rest[0] ?? "", request, call);
      case "exits":
        await this.#put(call, "exits", "it began");
        writeSync(2, "panic: it was asked to\n");
        process.exit(9);
      case "never":
        call.signal.addEventListener("abort", () => this.#note("aborted"), { once: true });
        return await new Promise<never>(() => {});
      case "raw":
        return data({
          http_content_type: "text/html",
          http_status_code: Number(rest[0] ?? "200"),
          http_raw_body: "<script>alert(1)</script>",
        });
      case "large":
        return data({ text: "x".repeat(Number(rest[0] ?? "0")) });
      case "store":
        return await this.#stored(request, rest.join("/"), call);
      case "pid":
        return data({ pid: process.pid, invalidated: this.#invalidated });
      case "environment":
        return data({ names: Object.keys(process.env), secret: process.env["SECRET"] ?? null });
      case "who":
        return data({
          uid: process.getuid?.() ?? -1,
          interfaces: Object.keys(networkInterfaces()),
        });
      default:
        return refusal(ErrorType.unsupportedPath, "unsupported path");
    }
  }

  async #keys(request: WireRequest, call: Call<null>): Promise<Answer> {
    const { operation, path } = request;
    switch (operation) {
      case "read": {
        const value = await this.#get(call, path);
        return value === null ? { response: null, err: null } : answer({ data: value });
      }
      case "create":
      case "update":
        await this.#put(call, path, request.data);
        return { response: null, err: null };
      case "delete": {
        const { err } = await callUnary(await this.#host(call), storage.delete, {
          key: path,
          txn: "",
        });
        return err === "" ? { response: null, err: null } : refusal(ErrorType.unknown, err);
      }
      case "list": {
        const { keys } = await callUnary(await this.#host(call), storage.list, {
          prefix: path,
          txn: "",
        });
        return data(keys.length === 0 ? {} : { keys });
      }
      default:
        return refusal(ErrorType.unsupportedOperation, "unsupported operation");
    }
  }

  /** Writes when nobody waits any more and the file that it was told of is there. */
  async #late(key: string, { data: sent }: WireRequest, call: Call<null>): Promise<Answer> {
    const { file } = JSON.parse(sent) as { file: string };
    const host = await this.#host(call);
    await once(call.signal, "abort");
    while (!existsSync(file)) await new Promise((go) => setTimeout(go, 10));
    const entry = { key, value: Buffer.from("late"), sealWrap: false };
    const written = callUnary(host, storage.put, { entry, txn: "" });
    const why = await written.then(
      ({ err }) => err,
      (error: unknown) => String(error),
    );
    this.#note(`late: ${why === "" ? "it was written" : "it was refused"}`);
    return data({});
  }

  /** Whatever it keeps. */
  async #stored(
    { operation, data: sent }: WireRequest,
    key: string,
    call: Call<null>,
  ): Promise<Answer> {
    if (operation === "read") return data({ value: await this.#get(call, key) });
    await this.#put(call, key, (JSON.parse(sent) as { value: string }).value);
    return { response: null, err: null };
  }

  async #creds({ path }: WireRequest, call: Call<null>): Promise<Answer> {
    const number = Number((await this.#get(call, "made")) ?? "0") + 1;
    await this.#put(call, "made", String(number));
    await this.#put(call, `objects/${number}`, "alive");
    const ttl = path === "creds/short" ? 5n * SECOND : 60n * SECOND;
    return unusual(path.split("/")[1] ?? "", {
      data: JSON.stringify({ object: number, big: 1 }).replace("1}", "12345678901234567890}"),
      secret: {
        leaseOptions: {
          ttl,
          maxTtl: 3600n * SECOND,
          renewable: true,
          increment: 0n,
          issueTime: 0n,
        },
        internalData: JSON.stringify({ number }),
        leaseId: "",
      },
    });
  }

  async #endOrRenew(request: WireRequest, call: Call<null>): Promise<Answer> {
    const { operation, secret, auth, path } = request;
    if (auth !== null) {
      const { user, renewal } = JSON.parse(auth.internalData) as { user: string; renewal: Says };
      if ((await this.#get(call, `gone/${user}`)) !== null) {
        return refusal(ErrorType.permissionDenied, "permission denied");
      }
      return answer({ auth: { ...auth, ...said(renewal, auth.leaseOptions ?? NO_TIMES) } });
    }
    const { number } = JSON.parse(secret?.internalData ?? "{}") as { number: number };
    if (operation === "renew") {
      const { increment = 0n } = secret?.leaseOptions ?? {};
      const ttl = increment > 0n ? increment : 120n * SECOND;
      const leaseOptions = { ...secret!.leaseOptions!, ttl, maxTtl: 0n };
      return answer({ secret: { ...secret!, leaseOptions } });
    }
    if (path === "creds/stuck") return refusal(ErrorType.unrecoverable, "its account is gone");
    if (path.endsWith("-later") && (await this.#get(call, `tried/${number}`)) === null) {
      await this.#put(call, `tried/${number}`, "once");
      return refusal(ErrorType.internal, "not now");
    }
    const { object } = (JSON.parse(request.data) ?? {}) as { object?: number };
    if (object !== undefined && object !== number)
      return refusal(ErrorType.internal, "its answer was lost");
    await this.#put(call, `objects/${number}`, "ended");
    return { response: null, err: null };
  }

  async #login(request: WireRequest): Promise<Answer> {
    const { user = "", password = "", says = {} } = JSON.parse(request.data) as LoginBody;
    if (password !== "right") return refusal(ErrorType.userError, `no such user: ${user}`);
    const auth = authCodec.decode(EMPTY);
    return answer({
      auth: {
        ...auth,
        displayName: user,
        policies: ["reader"],
        metadata: new Map([["user", user]]),
        internalData: JSON.stringify({ user, renewal: says.renewal ?? {} }),
        alias: null,
        ...said(says, {
          ttl: 60n * SECOND,
          maxTtl: 0n,
          renewable: true,
          increment: 0n,
          issueTime: 0n,
        }),
      },
    });
  }

  async #system(call: Call<null>) {
    const host = await this.#host(call);
    const [ttl, state, cluster, local] = await Promise.all([
      callUnary(host, systemView.defaultLeaseTtl, {}),
      callUnary(host, systemView.replicationState, {}),
      callUnary(host, systemView.clusterInfo, {}),
      callUnary(host, systemView.localMount, {}),
    ]);
    return {
      ttl: Number(ttl.ttl / SECOND),
      state: state.state,
      cluster: cluster.clusterId,
      local: local.local,
      config: Object.fromEntries(this.#of(call).config),
    };
  }

  async #get(call: Call<null>, key: string): Promise<string | null> {
    const { entry } = await callUnary(await this.#host(call), storage.get, { key, txn: "" });
    return entry === null ? null : Buffer.from(entry.value).toString();
  }

  async #put(call: Call<null>, key: string, text: string): Promise<void> {
    const err = await this.#tried(call, key, text);
    if (err !== "") throw new Refused(err);
  }

  async #tried(call: Call<null>, key: string, text: string): Promise<string> {
    const entry = { key, value: Buffer.from(text), sealWrap: false };
    const { err } = await callUnary(await this.#host(call), storage.put, { entry, txn: "" });
    return err;
  }

  #of(call: Call<null>): Instance {
    const found = this.#instances.get(call.metadata(MULTIPLEX_ID) ?? "");
    if (found === undefined) throw new Error("no backend instance found");
    return found;
  }

  #host(call: Call<null>): Promise<ClientSession> {
    return this.#of(call).host();
  }

  #note(what: string): void {
    if (this.#log !== null) appendFileSync(this.#log, `${what}\n`);
  }
}

/** As the public library writes it: with references, and with lists as reads. */
async function documentation(how: string): Promise<Answer> {
  const help = "a small engine";
  switch (how) {
    case "never":
      return await new Promise<never>(() => {});
    case "nonsense":
      return data({
        help,
        openapi: {
          components: { schemas: { Loop: { $ref: "#/components/schemas/Loop" } } },
          paths: {
            "/ok": { get: { summary: "It is fine.", parameters: 7, responses: [] } },
            "/kv/{a}/{a}": { get: {} },
            "/a b": { get: {} },
            "no/slash": { get: {} },
            "/loop": {
              get: { operationId: {}, description: 5 },
              post: {
                requestBody: {
                  content: {
                    "application/json": { schema: { $ref: "#/components/schemas/Loop" } },
                  },
                },
              },
            },
            "/odd": 5,
          },
        },
      });
    default:
      return data({
        help,
        openapi: {
          openapi: "3.0.2",
          components: {
            schemas: {
              KvWriteRequest: {
                type: "object",
                required: ["value"],
                properties: {
                  value: { type: "string", description: "What to keep." },
                  colours: { type: "array", items: { type: "string", enum: ["red", "blue"] } },
                },
              },
            },
          },
          paths: {
            "/kv/{key}": {
              description: "A value.",
              parameters: [
                { name: "key", in: "path", description: "Its name.", schema: { type: "string" } },
              ],
              get: { summary: "Read a value.", operationId: "kv-read" },
              post: {
                summary: "Keep a value.",
                requestBody: {
                  content: {
                    "application/json": {
                      schema: { $ref: "#/components/schemas/KvWriteRequest" },
                    },
                  },
                },
                responses: { "204": { description: "empty body" } },
              },
            },
            "/kv/": {
              get: {
                summary: "List values.",
                parameters: [
                  { name: "list", in: "query", schema: { type: "string", enum: ["true"] } },
                ],
              },
            },
            "/config": { get: { summary: "Read how it is configured." } },
            "/open/{what}": { get: { summary: "Read what anybody may." } },
          },
        },
      });
  }
}

class Refused extends Error {}

/** What a login is to be answered with, and its renewal; numbers as texts. */
interface Says extends Partial<
  Pick<WireAuth, "boundCidrs" | "noDefaultPolicy" | "policies" | "tokenType">
> {
  readonly ttl?: string;
  readonly maxTtl?: string;
  readonly renewable?: boolean;
  readonly period?: string;
  readonly numUses?: string;
  readonly explicitMaxTtl?: string;
  /** How long a text it keeps with the token. */
  readonly note?: number;
}

interface LoginBody {
  readonly user?: string;
  readonly password?: string;
  readonly says?: Says & { readonly renewal?: Says };
}

function said(says: Says, times: LeaseOptions): Partial<WireAuth> {
  const { ttl, maxTtl, renewable = times.renewable, note } = says;
  const { boundCidrs, noDefaultPolicy, policies, tokenType } = says;
  const plain = { boundCidrs, noDefaultPolicy, policies, tokenType };
  const { period, numUses, explicitMaxTtl } = says;
  const numbers = Object.entries({ period, numUses, explicitMaxTtl }).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, BigInt(text)] as const],
  );
  return {
    ...Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined)),
    ...Object.fromEntries(numbers),
    ...(note === undefined ? {} : { metadata: new Map([["note", "x".repeat(note)]]) }),
    leaseOptions: {
      ...times,
      renewable,
      ttl: ttl === undefined ? times.ttl : BigInt(ttl),
      maxTtl: maxTtl === undefined ? times.maxTtl : BigInt(maxTtl),
    },
  };
}

/** Begins processes until it may not. */
async function bomb(): Promise<object> {
  for (let begun = 0; ; begun++) {
    const child = spawn("/bin/sleep", ["60"], { stdio: "ignore" });
    try {
      await once(child, "spawn");
    } catch (error) {
      return { begun, why: (error as NodeJS.ErrnoException).code ?? "" };
    }
    if (begun === MAX_BEGUN) return { begun, why: "" };
  }
}

function answer(parts: Partial<WireResponse>): Answer {
  return { response: { ...NOTHING, ...parts }, err: null };
}

function data(value: object): Answer {
  return answer({ data: JSON.stringify(value) });
}

/** A secret, in an answer that the path names. */
function unusual(name: string, usual: Partial<WireResponse>): Answer {
  const named = (key: string) => answer({ ...usual, data: `{"object":1,${key}:{"a":1}}` });
  switch (name.replace(/-later$/, "")) {
    case "honest":
      return named(`"constructor":{"prototype":1},"prototype":"p","hasOwnProperty"`);
    case "prototype":
      return named(`"__proto__"`);
    case "twice":
      return named(`"object"`);
    case "broken":
      return answer({ ...usual, data: "{" });
    case "large":
      return answer({ ...usual, data: `{"object":1,"x":"${"x".repeat(1024 * 1024 * 5)}"}` });
    case "error":
      return { ...answer(usual), err: errorOf(ErrorType.internal, "my own words") };
    case "softly":
      return answer({ ...usual, data: `{"error":"it says no"}` });
    case "wraps":
      return answer({ ...usual, wrapInfo: { ...NO_WRAPPING, ttl: SECOND } });
    default:
      return answer(usual);
  }
}

function errorOf(type: number, message: string, code = 0): ProtoError {
  return { type, message, code: BigInt(code), own: null };
}

function refusal(type: number, message: string): Answer {
  return { response: null, err: errorOf(type, message) };
}

/** By the number of a type, with a status; or by an answer alone. */
function fails(what: string): Answer {
  if (what === "softly") return data({ error: "it says no" });
  const [type = "", code = ""] = what.split("-");
  return {
    response: { ...NOTHING, data: JSON.stringify({ error: "my own words" }) },
    err: errorOf(Number(type), "of the error", Number(code)),
  };
}

function seen(request: WireRequest) {
  const {
    operation,
    path,
    data: sent,
    headers,
    displayName,
    clientToken,
    unauthenticated,
  } = request;
  return {
    operation,
    path,
    sent: JSON.parse(sent) as unknown,
    headers: Object.fromEntries([...headers].map(([name, { header }]) => [name, header])),
    display_name: displayName,
    client_token: clientToken,
    unauthenticated,
    mount: request.mountPoint,
    accessor: request.clientTokenAccessor,
  };
}
