// Tokens as the small server of these tests keeps them: the answers, texts and headers of the ACL API
// as far as the command line can see them. A read with an index waits until there is something newer.

import { randomUUID } from "node:crypto";
import type { Answered, Seen } from "./fake-server.ts";

export interface FakeToken {
  AccessorID: string;
  SecretID: string;
  Name: string;
  Type: string;
  Policies: string[] | null;
  Global: boolean;
  ExpirationTime: string | null;
  ExpirationTTL: string;
  CreateTime: string;
  CreateIndex: number;
  ModifyIndex: number;
}

const refuse = (status: number, ...errors: string[]): Answered => ({ status, body: { errors } });
const denied = refuse(403, "Permission denied");
const HOUR = /^(\d+)h0m0s$/;

export class FakeTokens {
  readonly all = new Map<string, FakeToken>();
  readonly oneTime = new Map<string, string>(); // secret to accessor
  index = 40;
  /** In milliseconds since 1970. */
  time = () => Date.now();
  /** Index of the last bootstrap; null while it is open. */
  bootstrapped: number | null = 40;
  /** Policies that exist; others are warned of. */
  readonly policies = new Set(["default", "readonly", "deploy"]);
  #waiting: (() => void)[] = [];

  constructor(rootToken: string) {
    const first = this.add({
      // At the beginning of every order: lists by prefix are asked for without it.
      AccessorID: "00000000-0000-4000-8000-000000000b00",
      SecretID: rootToken,
      Name: "Bootstrap Token",
      Type: "management",
    });
    first.Global = true;
    this.bootstrapped = first.CreateIndex;
  }

  add(fields: Partial<FakeToken>): FakeToken {
    const index = ++this.index;
    const ttl = Number(HOUR.exec(fields.ExpirationTTL ?? "")?.[1] ?? 0);
    const token: FakeToken = {
      AccessorID: randomUUID(),
      SecretID: randomUUID(),
      Name: "",
      Type: "client",
      Policies: null,
      Global: false,
      ExpirationTime: ttl > 0 ? new Date(this.time() + ttl * 3_600_000).toISOString() : null,
      ExpirationTTL: "",
      CreateTime: new Date(this.time()).toISOString(),
      ...fields,
      CreateIndex: index,
      ModifyIndex: index,
    };
    this.all.set(token.AccessorID, token);
    this.wake();
    return token;
  }

  change(accessor: string, fields: Partial<FakeToken>): FakeToken {
    const token = this.all.get(accessor)!;
    Object.assign(token, fields, { ModifyIndex: ++this.index });
    this.wake();
    return token;
  }

  remove(accessor: string): void {
    this.all.delete(accessor);
    this.index++;
    this.wake();
  }

  /** Answers every read that waits, with whatever there is now. */
  wake(): void {
    for (const call of this.#waiting.splice(0)) call();
  }

  get parked(): number {
    return this.#waiting.length;
  }

  async answer(seen: Seen): Promise<Answered> {
    const { method, path, query, headers } = seen;
    if (path === "acl/bootstrap") return this.#bootstrap(seen);
    if (path === "acl/token/onetime/exchange") return this.#exchange(seen);
    const caller = this.#bySecret(headers["x-service-token"]);
    if (caller === undefined) return denied;
    const index = Number(query.get("index") ?? 0);
    const current = () => this.#route(seen, caller);
    for (;;) {
      const answer = current();
      const headerIndex = Number(answer.headers?.["X-Service-Index"] ?? Infinity);
      if (method !== "GET" || index === 0 || headerIndex !== index || answer.status !== 200)
        return answer;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      if (!this.all.has(caller.AccessorID)) return denied;
      if (query.get("index") === String(this.index)) return current(); // spurious
    }
  }

  #route(seen: Seen, caller: FakeToken): Answered {
    const { method, path, body } = seen;
    const management = caller.Type === "management";
    if (path === "acl/token/self") return this.#record(caller);
    if (path === "acl/token/onetime") return this.#upsert(caller);
    if (path === "acl/tokens") return management ? this.#list(seen) : denied;
    const accessor = path.slice("acl/token/".length);
    if (method === "GET" && accessor === caller.AccessorID) return this.#record(caller);
    if (!management) return denied;
    if (path === "acl/token") return this.#create(body);
    const token = this.all.get(accessor);
    if (method === "DELETE") {
      if (token === undefined) return refuse(400, `Cannot delete nonexistent tokens: ${accessor}`);
      this.remove(accessor);
      return { status: 200, headers: { "X-Service-Index": String(this.index) } };
    }
    if (method === "POST") return this.#write(accessor, token, seen);
    return token === undefined ? refuse(404, "ACL token not found") : this.#record(token);
  }

  #write(accessor: string, token: FakeToken | undefined, { body, query }: Seen): Answered {
    if (token === undefined) {
      if (body["SecretID"] === undefined) return refuse(400, `cannot find token ${accessor}`);
      return this.#create(body);
    }
    const cas = query.get("cas");
    if (cas !== null && cas !== String(token.ModifyIndex)) {
      return refuse(409, `token was modified (index ${token.ModifyIndex})`);
    }
    const problem = problemOf(body);
    if (problem !== null) return problem;
    const { Name = "", Type, Policies } = body;
    return this.#record(this.change(accessor, { Name, Type, Policies } as Partial<FakeToken>));
  }

  #create(body: Record<string, unknown>): Answered {
    const problem = problemOf(body);
    if (problem !== null) return problem;
    const token = this.add(body as Partial<FakeToken>);
    const unknown = (token.Policies ?? []).filter((name) => !this.policies.has(name));
    const warning = `unknown policies: ${unknown.join(", ")}`;
    const record = this.#record(token);
    return unknown.length === 0
      ? record
      : { ...record, headers: { ...record.headers, "X-Service-Warning": warning } };
  }

  #record(token: FakeToken): Answered {
    return {
      status: 200,
      body: { ...token, Roles: null, Hash: "" },
      headers: { "X-Service-Index": String(token.ModifyIndex) },
    };
  }

  #list({ query }: Seen): Answered {
    const prefix = query.get("prefix") ?? "";
    const filter = query.get("filter");
    if (prefix.length % 2 === 1) return refuse(400, "must be even length");
    if (filter !== null && !/^Name == "[^"]*"$/.test(filter)) {
      return refuse(400, "failed to create result paginator: failed to read filter expression");
    }
    const lexical = prefix !== "" || query.has("global");
    const keyOf = (token: FakeToken) =>
      lexical ? token.AccessorID : `${token.CreateIndex}.${token.AccessorID}`;
    const found = [...this.all.values()]
      .filter(({ AccessorID }) => AccessorID.replaceAll("-", "").startsWith(prefix))
      .filter(({ Global }) => Global || !query.has("global"))
      .filter(({ Name }) => filter === null || filter === `Name == "${Name}"`);
    if (lexical) found.sort((a, b) => (a.AccessorID < b.AccessorID ? -1 : 1));
    if (query.get("reverse") === "true") found.reverse();
    const start = query.get("next_token");
    const atOrAfter = (key: string, from: string) =>
      !lexical ? key === from : query.get("reverse") === "true" ? key <= from : key >= from;
    const from = start === null ? 0 : found.findIndex((token) => atOrAfter(keyOf(token), start));
    if (from < 0 && !lexical) return refuse(400, "invalid next_token");
    const rest = from < 0 ? [] : found.slice(from);
    const end = Number(query.get("per_page") ?? rest.length);
    const next = rest[end];
    return {
      status: 200,
      body: rest.slice(0, end).map(({ SecretID: _secret, ExpirationTTL: _ttl, ...stub }) => stub),
      headers: {
        "X-Service-Index": String(this.index),
        ...(next === undefined ? {} : { "X-Service-NextToken": keyOf(next) }),
      },
    };
  }

  #bootstrap({ body }: Seen): Answered {
    if (this.bootstrapped !== null) {
      return refuse(400, `ACL bootstrap already done (reset index: ${this.bootstrapped})`);
    }
    const secret = typeof body["BootstrapSecret"] === "string" ? body["BootstrapSecret"] : "";
    const token = this.add({
      Name: "Bootstrap Token",
      Type: "management",
      Global: true,
      ...(secret === "" ? {} : { SecretID: secret }),
    });
    this.bootstrapped = token.CreateIndex;
    return this.#record(token);
  }

  #upsert({ AccessorID }: FakeToken): Answered {
    for (const [secret, accessor] of this.oneTime) {
      if (accessor === AccessorID) this.oneTime.delete(secret);
    }
    const OneTimeSecretID = randomUUID();
    this.oneTime.set(OneTimeSecretID, AccessorID);
    const ExpiresAt = new Date(this.time() + 600_000).toISOString();
    const index = ++this.index;
    const made = { OneTimeSecretID, AccessorID, ExpiresAt, CreateIndex: index, ModifyIndex: index };
    return { status: 200, body: { Index: index, OneTimeToken: made } };
  }

  #exchange({ body }: Seen): Answered {
    const secret = String(body["OneTimeSecretID"]);
    const token = this.all.get(this.oneTime.get(secret) ?? "");
    this.oneTime.delete(secret);
    if (token === undefined) return denied;
    const Token = { ...token, Roles: null, Hash: "" };
    return { status: 200, body: { Index: ++this.index, Token } };
  }

  #bySecret(secret: string | string[] | undefined): FakeToken | undefined {
    return [...this.all.values()].find(({ SecretID }) => SecretID === secret);
  }
}

function problemOf({ Type, Policies }: Record<string, unknown>): Answered | null {
  const none = !Array.isArray(Policies) || Policies.length === 0;
  const problems = [
    ...(Type === "client" && none ? ["client token missing policies or roles"] : []),
    ...(Type === "management" && !none
      ? ["management token cannot be associated with policies or roles"]
      : []),
  ];
  if (problems.length === 0) return null;
  const count = `${problems.length} error${problems.length > 1 ? "s" : ""} occurred:`;
  return refuse(
    400,
    `token 0 invalid: ${count}\n${problems.map((one) => `\t* ${one}\n`).join("")}\n`,
  );
}
