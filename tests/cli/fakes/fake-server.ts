// A small server that answers as the real one does: enough of seal, ceremonies, namespaces and audit for
// the command line. It keeps its state in memory, hides nothing and remembers every request.

import http from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { encodeWithOtp } from "../../../src/crypto/otp.ts";
import { FakeTokens } from "./acl-fake.ts";
import { FakeLeases, fakeLogin, FakeWrapping } from "./lease-fake.ts";
import { FakeMounts } from "./mounts-fake.ts";
import { FakePolicies } from "./policy-fake.ts";

export interface Seen {
  readonly method: string;
  readonly path: string; // without /v1/
  readonly query: URLSearchParams;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

export interface Answered {
  readonly status: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Data = Record<string, unknown>;

const EVIDENCE_KEY = "4d02".repeat(16);
export const ROOT_TOKEN = "root-token-of-the-fake-0123456789ab";
const NEW_TOKEN = "made-by-generate-root-0123456789abcd";
const OTP = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789";

const refuse = (status: number, ...errors: string[]): Answered => ({ status, body: { errors } });
const bare = (body: Data): Answered => ({ status: 200, body });
const nothing: Answered = { status: 204 };

export class FakeServer {
  readonly seen: Seen[] = [];
  /** Answers in place of the ordinary ones, by "METHOD path". */
  readonly instead = new Map<string, Answered | (() => Promise<Answered>)>();
  initialized = false;
  sealed = true;
  shares: string[] = [];
  threshold = 0;
  unsealShares = new Set<string>();
  term = 1;
  skewSeconds = 0;
  readonly namespaces = new Map<string, Data>();
  readonly devices = new Map<string, Data>();
  readonly tokens = new FakeTokens(ROOT_TOKEN);
  readonly policies = new FakePolicies(enveloped);
  readonly engines = new FakeMounts(enveloped);
  readonly leases = new FakeLeases(enveloped);
  readonly wrapping = new FakeWrapping();
  attempt: { shares: Set<string>; otp: string } | null = null;
  rekey: { shares: Set<string>; made: string[]; verified: Set<string>; plan: Data } | null = null;
  readonly #server: http.Server;
  #secure: boolean;

  private constructor(tls: { readonly cert: string; readonly key: string } | null) {
    const listener: http.RequestListener = (request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        response.statusCode = 500;
        response.end(String(error));
      });
    };
    this.#secure = tls !== null;
    this.#server = tls === null ? http.createServer(listener) : https.createServer(tls, listener);
    // Node's parser refuses LIST; the verb is renamed before it looks.
    this.#server.on(tls === null ? "connection" : "secureConnection", (socket: Socket) => {
      socket.prependListener("data", (chunk: Buffer) => {
        if (chunk.subarray(0, 5).toString("latin1") === "LIST ") chunk.write("LINK ", "latin1");
      });
    });
  }

  static async start(tls: { readonly cert: string; readonly key: string } | null = null) {
    const fake = new FakeServer(tls);
    await new Promise<void>((resolve) => fake.#server.listen(0, "127.0.0.1", resolve));
    return fake;
  }

  get address(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `${this.#secure ? "https" : "http"}://127.0.0.1:${port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Initialised with these shares and unsealed. */
  opened(shares = ["share-a", "share-b", "share-c"], threshold = 2): this {
    [this.initialized, this.sealed, this.shares, this.threshold] = [true, false, shares, threshold];
    return this;
  }

  async #handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString("utf8");
    const url = new URL(request.url ?? "/", "http://fake");
    const method = request.method === "LINK" ? "LIST" : (request.method ?? "");
    const seen: Seen = {
      method,
      path: decodeURIComponent(url.pathname).replace(/^\/v1\//, ""),
      query: url.searchParams,
      headers: request.headers,
      body: text === "" ? {} : (JSON.parse(text) as Data),
    };
    this.seen.push(seen);
    const special = this.instead.get(`${method} ${seen.path}`);
    const answer =
      special === undefined
        ? await this.#answer(seen)
        : typeof special === "function"
          ? await special()
          : special;
    response.statusCode = answer.status;
    response.setHeader("X-Service-Request-ID", "11111111-2222-4333-8444-555555555555");
    if (answer.body !== undefined) response.setHeader("Content-Type", "application/json");
    for (const [name, value] of Object.entries(answer.headers ?? {}))
      response.setHeader(name, value);
    response.end(answer.body === undefined ? answer.text : JSON.stringify(answer.body));
  }

  async #answer(seen: Seen): Promise<Answered> {
    const namespace = seen.headers["x-service-namespace"];
    if (namespace !== undefined && /^sys\/(?:health|leader|audit|host-info)$/.test(seen.path)) {
      return refuse(403, "restricted endpoint");
    }
    const open = this.#open(seen);
    if (open !== null) return open;
    if (!this.initialized) return refuse(503, "service is not initialized");
    if (this.sealed) return refuse(503, "service is sealed");
    if (seen.path.startsWith("acl/")) return this.tokens.answer(seen);
    const ceremony = this.#ceremony(seen);
    if (ceremony !== null) return ceremony;
    const login = fakeLogin(seen);
    if (login !== null) return login;
    if (/^sys\/wrapping\/(lookup|unwrap|rewrap)$/.test(seen.path))
      return this.wrapping.answer(seen)!;
    const route = this.#route(seen);
    if (route === null) return refuse(404, "unsupported path");
    const token = seen.headers["x-service-token"];
    if (token === undefined) return refuse(403, "missing client token");
    if (token !== ROOT_TOKEN) return refuse(403, "permission denied", "invalid token");
    return this.wrapping.wrapped(await route(), seen);
  }

  #open({ method, path, body }: Seen): Answered | null {
    switch (`${method} ${path}`) {
      case "GET sys/seal-status":
        return bare(this.#sealStatus());
      case "GET sys/leader":
        return bare({ ha_enabled: false, is_self: true });
      case "GET sys/init":
        return bare({ initialized: this.initialized });
      case "POST sys/init":
        return this.#init(body);
      case "POST sys/unseal":
        return this.#unseal(body);
      case "GET sys/health":
        return {
          status: !this.initialized ? 501 : this.sealed ? 503 : 200,
          body: {
            initialized: this.initialized,
            sealed: this.sealed,
            standby: false,
            server_time_utc: Math.floor(Date.now() / 1000) + this.skewSeconds,
            version: "0.1.0",
            acl_bootstrap_open: this.tokens.bootstrapped === null,
          },
        };
      default:
        return null;
    }
  }

  #sealStatus(): Data {
    return {
      type: "shamir",
      initialized: this.initialized,
      sealed: this.sealed,
      t: this.threshold,
      n: this.shares.length,
      progress: this.unsealShares.size,
      nonce: this.unsealShares.size > 0 ? "unseal-nonce" : "",
      version: "0.1.0",
      storage_type: "memory",
      ...(this.sealed
        ? {}
        : { cluster_name: "fake", cluster_id: "fake-id", evidence_key: EVIDENCE_KEY }),
      warnings: [],
    };
  }

  #init(body: Data): Answered {
    if (this.initialized) return refuse(400, "service is already initialized");
    const n = Number(body["secret_shares"] ?? 5);
    this.threshold = Number(body["secret_threshold"] ?? 3);
    this.shares = Array.from({ length: n }, (_, i) => `c2hhcmUt${i}`);
    this.initialized = true;
    const token = body["acl_bootstrap"] === "open" ? {} : { root_token: ROOT_TOKEN };
    const shares = { keys: this.shares, keys_base64: this.shares };
    return bare({ ...shares, ...token, evidence_key: EVIDENCE_KEY });
  }

  #unseal(body: Data): Answered {
    if (body["reset"] === true) this.unsealShares.clear();
    else {
      const key = String(body["key"]);
      if (!this.shares.includes(key)) return refuse(400, "invalid key");
      this.unsealShares.add(key);
      if (this.unsealShares.size >= this.threshold) {
        this.sealed = false;
        this.unsealShares.clear();
      }
    }
    return bare(this.#sealStatus());
  }

  /** The last thing that was sent to it. */
  get posted(): Seen | undefined {
    return this.seen.findLast(({ method }) => method === "POST");
  }

  #ceremony({ method, path, body }: Seen): Answered | null {
    switch (`${method} ${path}`) {
      case "GET sys/generate-root/attempt":
        return bare(this.#attempt());
      case "POST sys/generate-root/attempt": {
        if (this.attempt !== null) return refuse(400, "a root generation is running");
        const otp = typeof body["otp"] === "string" ? body["otp"] : OTP;
        this.attempt = { shares: new Set(), otp };
        const made = { otp: body["otp"] === undefined ? otp : "", cancel_nonce: "root-cancel" };
        return bare({ ...this.#attempt(), ...made });
      }
      case "DELETE sys/generate-root/attempt":
        if (body["nonce"] !== "root-cancel")
          return refuse(403, "cancelling needs the cancel_nonce");
        this.attempt = null;
        return nothing;
      case "POST sys/generate-root/update": {
        const { attempt } = this;
        if (attempt === null) return refuse(400, "no root generation is running");
        if (body["nonce"] !== "root-nonce") return refuse(400, "wrong nonce");
        if (!this.shares.includes(String(body["key"]))) return refuse(400, "invalid key");
        attempt.shares.add(String(body["key"]));
        if (attempt.shares.size < this.threshold) return bare(this.#attempt());
        const encoded = encodeWithOtp(NEW_TOKEN, attempt.otp);
        const done = { ...this.#attempt(), complete: true, encoded_token: encoded };
        this.attempt = null;
        return bare({ ...done, encoded_root_token: encoded });
      }
      case "GET sys/rekey/init":
        return bare(this.#rekeyStatus());
      case "POST sys/rekey/init":
        this.rekey = { shares: new Set(), made: [], verified: new Set(), plan: body };
        return bare({ ...this.#rekeyStatus(), cancel_nonce: "rekey-cancel" });
      case "DELETE sys/rekey/init":
        if (body["nonce"] !== "rekey-cancel")
          return refuse(403, "cancelling needs the cancel_nonce");
        this.rekey = null;
        return nothing;
      case "POST sys/rekey/update":
        return this.#rekeyUpdate(body);
      case "GET sys/rekey/verify":
        return bare(this.#verification());
      case "POST sys/rekey/verify":
        return this.#rekeyVerify(body);
      default:
        return null;
    }
  }

  #attempt(): Data {
    return {
      started: this.attempt !== null,
      nonce: this.attempt === null ? "" : "root-nonce",
      progress: this.attempt?.shares.size ?? 0,
      required: this.threshold,
      complete: false,
      encoded_token: "",
      encoded_root_token: "",
      pgp_fingerprint: "",
      otp: "",
      otp_length: OTP.length,
    };
  }

  #rekeyStatus(): Data {
    const { rekey } = this;
    return {
      started: rekey !== null,
      nonce: rekey === null ? "" : "rekey-nonce",
      n: rekey?.plan["secret_shares"] ?? 0,
      t: rekey?.plan["secret_threshold"] ?? 0,
      progress: rekey?.shares.size ?? 0,
      required: this.threshold,
      pgp_fingerprints: null,
      backup: false,
      verification_required: rekey?.plan["require_verification"] ?? false,
      verification_nonce: (rekey?.made.length ?? 0) > 0 ? "verify-nonce" : "",
    };
  }

  #rekeyUpdate(body: Data): Answered {
    const { rekey } = this;
    if (rekey === null || body["nonce"] !== "rekey-nonce") return refuse(400, "wrong nonce");
    if (!this.shares.includes(String(body["key"]))) return refuse(400, "invalid key");
    rekey.shares.add(String(body["key"]));
    if (rekey.shares.size < this.threshold) return bare(this.#rekeyStatus());
    const count = Number(rekey.plan["secret_shares"] ?? 5);
    rekey.made = Array.from({ length: count }, (_, i) => `bmV3LXNoYXJl${i}`);
    const verification = rekey.plan["require_verification"] === true;
    const answer = {
      complete: true,
      keys: rekey.made,
      keys_base64: rekey.made,
      nonce: "rekey-nonce",
      verification_required: verification,
      verification_nonce: verification ? "verify-nonce" : "",
    };
    if (!verification) this.#adopt();
    return bare(answer);
  }

  #rekeyVerify(body: Data): Answered {
    const { rekey } = this;
    if (rekey === null || body["nonce"] !== "verify-nonce") return refuse(400, "wrong nonce");
    if (!rekey.made.includes(String(body["key"]))) return refuse(400, "invalid key");
    rekey.verified.add(String(body["key"]));
    const status = this.#verification();
    const complete = rekey.verified.size >= Number(rekey.plan["secret_threshold"] ?? 3);
    if (complete) this.#adopt();
    return bare({ ...status, complete });
  }

  #verification(): Data {
    const { rekey } = this;
    return {
      nonce: "verify-nonce",
      n: rekey?.plan["secret_shares"] ?? 0,
      t: rekey?.plan["secret_threshold"] ?? 0,
      progress: rekey?.verified.size ?? 0,
      complete: false,
    };
  }

  #adopt(): void {
    this.shares = this.rekey?.made ?? [];
    this.threshold = Number(this.rekey?.plan["secret_threshold"] ?? 3);
    this.rekey = null;
  }

  #route(seen: Seen): (() => Answered | Promise<Answered>) | null {
    const { method, path, body } = seen;
    const routes: Record<string, () => Answered> = {
      "GET sys/key-status": () =>
        enveloped({ term: this.term, install_time: "2026-01-01T00:00:00Z", encryptions: 7 }),
      "POST sys/rotate": () => {
        this.term++;
        return nothing;
      },
      "POST sys/seal": () => {
        this.sealed = true;
        return nothing;
      },
      "POST sys/step-down": () => nothing,
      "GET sys/audit": () => enveloped(Object.fromEntries(this.devices)),
      "LIST sys/namespaces": () =>
        this.namespaces.size === 0
          ? refuse(404)
          : enveloped({
              keys: [...this.namespaces.keys()],
              key_info: Object.fromEntries(this.namespaces),
            }),
    };
    const fixed = routes[`${method} ${path}`];
    if (fixed !== undefined) return fixed;
    const policy = this.policies.answer(seen);
    if (policy !== null) return () => policy;
    const other =
      this.leases.answer(seen) ?? this.wrapping.answer(seen) ?? this.engines.answer(seen);
    if (other !== null) return () => other;
    const [, kind = "", name = ""] = /^sys\/(audit|audit-hash|namespaces)\/(.+)$/.exec(path) ?? [];
    if (kind === "namespaces") return () => this.#namespace(method, `${name}/`, body);
    if (kind === "audit") return () => this.#device(method, `${name}/`, body);
    if (kind === "audit-hash") return () => enveloped({ hash: "hmac-sha256:0123" });
    return null;
  }

  #namespace(method: string, path: string, body: Data): Answered {
    const found = this.namespaces.get(path);
    if (method === "DELETE") {
      this.namespaces.delete(path);
      return found === undefined
        ? nothing
        : { status: 202, body: envelope({ status: "in-progress" }) };
    }
    if (method !== "POST" && found === undefined) return refuse(404);
    if (method !== "GET") {
      const before = (found?.["custom_metadata"] ?? {}) as Data;
      const merged = Object.entries({
        ...before,
        ...(body["custom_metadata"] as Data | undefined),
      });
      const custom_metadata = Object.fromEntries(merged.filter(([, value]) => value !== null));
      this.namespaces.set(path, { id: "a1b2c", path, custom_metadata });
    }
    return enveloped({
      ...this.namespaces.get(path),
      uuid: "22222222-2222-4333-8444-555555555555",
    });
  }

  #device(method: string, path: string, body: Data): Answered {
    if (method === "DELETE") this.devices.delete(path);
    else this.devices.set(path, { local: false, healthy: true, description: "", ...body, path });
    return nothing;
  }
}

function envelope(data: Data): Data {
  return {
    request_id: "11111111-2222-4333-8444-555555555555",
    lease_id: "",
    renewable: false,
    lease_duration: 0,
    data,
    wrap_info: null,
    warnings: null,
    auth: null,
    mount_type: "system",
  };
}

export function enveloped(data: Data): Answered {
  return { status: 200, body: { ...data, ...envelope(data) } };
}
