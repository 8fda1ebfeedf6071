// The Go client library of the secrets servers that people come from, as the server sees it: request
// lines, headers and bodies byte for byte as it writes them, and its rules for what it accepts. What it
// calls is in its own words: logical for any path, kv for version 2, sys for mounts and leases.

import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { RawClient, type RawAnswer } from "../support/http-front.ts";

export interface ClientSecret {
  readonly request_id: string;
  readonly lease_id: string;
  readonly lease_duration: number;
  readonly renewable: boolean;
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly warnings: readonly string[] | null;
  readonly auth: Readonly<Record<string, unknown>> | null;
  readonly wrap_info: Readonly<Record<string, unknown>> | null;
}

export interface KvSecret {
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly version: number;
  readonly deleted: boolean;
  readonly destroyed: boolean;
  readonly custom: Readonly<Record<string, unknown>> | null;
}

interface Sent {
  readonly query?: Readonly<Record<string, string>>;
  /** Undefined: none. Null is sent as such, which is what it makes of an empty map. */
  readonly body?: object | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export class ClientError extends Error {
  readonly status: number;

  constructor(status: number, errors: readonly string[]) {
    super(`Code: ${status}. Errors:\n\n${errors.map((error) => `* ${error}`).join("\n")}`);
    this.status = status;
  }
}

export class SecretsClient {
  readonly #connection: RawClient;
  readonly #host: string;
  token = "";
  namespace = "";
  /** Of the flag or variable of the command line; as its duration is written. */
  wrapTtl = "";

  constructor(connection: RawClient, host: string) {
    this.#connection = connection;
    this.#host = host;
  }

  // --- any path ---

  async read(path: string, query?: Readonly<Record<string, string>>): Promise<ClientSecret | null> {
    const answer = await this.#ask("GET", path, query === undefined ? {} : { query });
    return secretOrAbsent(answer);
  }

  /** It writes with PUT and gives no type of content. */
  async write(path: string, body: object): Promise<ClientSecret | null> {
    return secretOrError(await this.#ask("PUT", path, { body }));
  }

  async list(
    path: string,
    query: Readonly<Record<string, string>> = {},
  ): Promise<unknown[] | null> {
    const answer = await this.#ask("GET", path, { query: { ...query, list: "true" } });
    return (secretOrAbsent(answer)?.data?.["keys"] as unknown[] | undefined) ?? null;
  }

  async delete(path: string): Promise<ClientSecret | null> {
    return secretOrError(await this.#ask("DELETE", path, {}));
  }

  async mergePatch(path: string, body: object): Promise<ClientSecret | null> {
    const headers = { "Content-Type": "application/merge-patch+json" };
    return secretOrError(await this.#ask("PATCH", path, { body, headers }));
  }

  /** With its own token in place it sends the other in the body; else that is its token, and the body
   *  is what its encoder makes of a map that is not there. */
  async unwrap(wrappingToken: string): Promise<ClientSecret | null> {
    let body: object | null = null;
    if (this.token === "") this.token = wrappingToken;
    else if (wrappingToken !== "" && wrappingToken !== this.token) body = { token: wrappingToken };
    const answer = await this.#ask("PUT", "sys/wrapping/unwrap", { body });
    if (answer.status !== 404) return secretOrError(answer);
    return secretOrAbsent(answer);
  }

  // --- version 2 of the key/value engine ---

  async kvGet(mount: string, path: string, version?: number): Promise<KvSecret> {
    const query = version === undefined ? undefined : { version: String(version) };
    const secret = await this.read(`${mount}/data/${path}`, query);
    if (secret === null) throw new Error(`secret not found: at ${mount}/data/${path}`);
    assert.ok(secret.data !== null && "data" in secret.data, "missing expected 'data' element");
    const data = secret.data["data"] as KvSecret["data"];
    return { ...versionOf(secret.data["metadata"]), data };
  }

  async kvPut(mount: string, path: string, data: object, options?: object): Promise<KvSecret> {
    const body = options === undefined ? { data } : { data, options };
    const secret = await this.write(`${mount}/data/${path}`, body);
    assert.ok(secret !== null);
    return { ...versionOf(secret.data), data: null };
  }

  async kvPatch(mount: string, path: string, data: object, options?: object): Promise<KvSecret> {
    const body = options === undefined ? { data } : { data, options };
    const secret = await this.mergePatch(`${mount}/data/${path}`, body);
    assert.ok(secret !== null);
    return { ...versionOf(secret.data), data: null };
  }

  async kvMetadata(mount: string, path: string): Promise<Readonly<Record<string, unknown>>> {
    const secret = await this.read(`${mount}/metadata/${path}`);
    const data = secret?.data ?? null;
    if (data === null)
      throw new Error(`secret not found: no metadata at ${mount}/metadata/${path}`);
    for (const name of ["created_time", "updated_time"]) time(data[name]);
    assert.match(String(data["delete_version_after"]), /^(\d+h)?(\d+m)?(\d+(\.\d+)?s)$/);
    const versions = data["versions"] as Readonly<Record<string, unknown>>;
    for (const [version, facts] of Object.entries(versions)) {
      assert.match(version, /^\d+$/);
      versionOf({ ...(facts as object), version: Number(version) });
    }
    return data;
  }

  // --- the command line's own look before it touches a path ---

  async isVersion2(path: string): Promise<{ readonly mount: string; readonly second: boolean }> {
    const answer = await this.#ask("GET", `sys/internal/ui/mounts/${path}`, {}, { wraps: false });
    if (answer.status === 404) return { mount: "", second: false };
    const { data } = secretOrError(answer) ?? { data: null };
    const options = data?.["options"] as { version?: string } | null;
    return { mount: String(data?.["path"]), second: options?.version === "2" };
  }

  // --- mounts and leases ---

  async mount(path: string, input: object): Promise<void> {
    secretOrError(await this.#ask("POST", `sys/mounts/${path}`, { body: input }));
  }

  async unmount(path: string): Promise<void> {
    secretOrError(await this.#ask("DELETE", `sys/mounts/${path}`, {}));
  }

  async renew(lease_id: string, increment: number): Promise<ClientSecret> {
    const body = { increment, lease_id };
    const secret = secretOrError(await this.#ask("PUT", "sys/leases/renew", { body }));
    assert.ok(secret !== null);
    return secret;
  }

  async lookup(lease_id: string): Promise<ClientSecret> {
    const body = { lease_id };
    const secret = secretOrError(await this.#ask("PUT", "sys/leases/lookup", { body }));
    assert.ok(secret !== null);
    return secret;
  }

  async revoke(lease_id: string): Promise<void> {
    secretOrError(await this.#ask("PUT", "sys/leases/revoke", { body: { lease_id } }));
  }

  /** By prefix and by force there is no body at all, with options there is. */
  async revokeWith(id: string, how: "prefix" | "force" | "sync"): Promise<void> {
    const kind = how === "sync" ? "revoke" : `revoke-${how}`;
    const path = `sys/leases/${kind}/${id}`;
    const sent = how === "force" ? {} : { body: { sync: how === "sync" } };
    secretOrError(await this.#ask("PUT", path, sent));
  }

  async revokePrefix(id: string): Promise<void> {
    secretOrError(await this.#ask("PUT", `sys/leases/revoke-prefix/${id}`, {}));
  }

  #ask(verb: string, path: string, sent: Sent, { wraps = true } = {}): Promise<RawAnswer> {
    const target = `/v1/${path}`.replace(/\/+$/, ""); // its joining of paths tidies the end
    const text = sent.body === undefined ? "" : goJson(sent.body);
    const sized = sent.body !== undefined || verb === "PUT" || verb === "POST" || verb === "PATCH";
    const ttl = wraps ? this.#wrapTtl(verb, path) : "";
    const headers = {
      ...sent.headers,
      ...(this.namespace === "" ? {} : { "X-Vault-Namespace": this.namespace }),
      "X-Vault-Request": "true",
      ...(this.token === "" ? {} : { "X-Vault-Token": this.token }),
      ...(ttl === "" ? {} : { "X-Vault-Wrap-Ttl": ttl }), // as its header type spells it
    };
    const lines = [
      `${verb} ${target}${queryText(sent.query ?? {})} HTTP/1.1`,
      `Host: ${this.#host}`,
      "User-Agent: Go-http-client/1.1",
      ...(sized ? [`Content-Length: ${Buffer.byteLength(text)}`] : []),
      ...Object.entries(headers)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, value]) => `${name}: ${value}`),
      "Accept-Encoding: gzip",
    ];
    return this.#connection.ask(Buffer.from(`${lines.join("\r\n")}\r\n\r\n${text}`));
  }

  /** Everything with the flag; without it only the endpoint that needs a time. */
  #wrapTtl(verb: string, path: string): string {
    if (this.wrapTtl !== "") return this.wrapTtl;
    return path === "sys/wrapping/wrap" && (verb === "PUT" || verb === "POST") ? "5m" : "";
  }
}

/** What the library sends for a mount: every field, the zero ones too. */
export function mountInput(type: string, more: { readonly options?: object | null } = {}): object {
  return {
    type,
    description: "",
    config: { options: null, default_lease_ttl: "", max_lease_ttl: "", force_no_cache: false },
    local: false,
    seal_wrap: false,
    external_entropy_access: false,
    options: more.options ?? null,
  };
}

/** What the command line sends: durations as text, and the version in options. */
export function commandMountInput(type: string, options: object | null): object {
  const config = { default_lease_ttl: "0s", max_lease_ttl: "0s", force_no_cache: false };
  return {
    ...mountInput(type, { options }),
    config: { options: null, ...config },
  };
}

function queryText(query: Readonly<Record<string, string>>): string {
  const sorted = Object.entries(query).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const text = new URLSearchParams(sorted).toString();
  return text === "" ? "" : `?${text}`;
}

/** Names of maps in order, and what HTML could trip over escaped. */
function goJson(value: unknown): string {
  const escapes = (sign: string) => `\\u00${sign.charCodeAt(0).toString(16)}`;
  return JSON.stringify(ordered(value)).replaceAll(/[<>&]/g, escapes);
}

function ordered(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  if ("type" in value && "config" in value) return value; // a struct: in the order of its fields
  const entries = Object.entries(value).map(([name, member]) => [name, ordered(member)] as const);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function bodyOf({ headers, body }: RawAnswer): string {
  const zipped = headers.get("content-encoding") === "gzip";
  return zipped ? gunzipSync(Buffer.from(body, "latin1")).toString("utf8") : body;
}

/** Success is anything below 400; nothing at all is no secret. */
function secretOrError(answer: RawAnswer): ClientSecret | null {
  const text = bodyOf(answer);
  if (answer.status >= 400) {
    const { errors } = JSON.parse(text) as { readonly errors: readonly string[] };
    throw new ClientError(answer.status, errors);
  }
  return text === "" ? null : asSecret(text);
}

/** A 404 is no secret, unless it has data or warnings. */
function secretOrAbsent(answer: RawAnswer): ClientSecret | null {
  if (answer.status !== 404) return secretOrError(answer);
  const value = JSON.parse(bodyOf(answer)) as Partial<ClientSecret>;
  const has = Object.keys(value.data ?? {}).length > 0 || (value.warnings ?? []).length > 0;
  return has ? (value as ClientSecret) : null;
}

/** What its decoder insists on. */
function asSecret(text: string): ClientSecret {
  const secret = JSON.parse(text) as ClientSecret;
  for (const name of ["request_id", "lease_id"] as const)
    assert.equal(typeof secret[name], "string");
  assert.ok(Number.isSafeInteger(secret.lease_duration));
  assert.equal(typeof secret.renewable, "boolean");
  for (const name of ["data", "auth", "wrap_info"] as const) {
    assert.ok(secret[name] === null || typeof secret[name] === "object", name);
  }
  if (secret.wrap_info !== null) time(secret.wrap_info["creation_time"]);
  return secret;
}

function versionOf(value: unknown): Omit<KvSecret, "data"> {
  const facts = value as Readonly<Record<string, unknown>>;
  assert.ok(Number.isSafeInteger(facts["version"]));
  time(facts["created_time"]);
  if (facts["deletion_time"] !== "") time(facts["deletion_time"]);
  assert.equal(typeof facts["destroyed"], "boolean");
  return {
    version: Number(facts["version"]),
    deleted: facts["deletion_time"] !== "",
    destroyed: facts["destroyed"] === true,
    custom: (facts["custom_metadata"] ?? null) as KvSecret["custom"],
  };
}

function time(value: unknown): void {
  assert.match(String(value), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/);
}

export async function secretsClient(
  t: { after(call: () => void): void },
  url: string,
  token: string,
): Promise<SecretsClient> {
  const { host, port } = new URL(url);
  const connection = await RawClient.connect(Number(port));
  t.after(() => connection.destroy());
  const client = new SecretsClient(connection, host);
  client.token = token;
  return client;
}
