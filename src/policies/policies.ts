// The ACL policies of every namespace: kept, read, written, and asked. What a document means is the
// leaf policy/; who may write one is the pipeline's.

import type { Clock, Instant } from "../base/world.ts";
import type { Tx, View } from "../barrier/view.ts";
import type { Decision, Question } from "../endpoint/decision.ts";
import type { Caller, NamespaceRef } from "../endpoint/request.ts";
import { ROOT_NAMESPACE } from "../endpoint/request.ts";
import type { PolicyInForce } from "../policy/acl-compile.ts";
import { capabilitiesOn, decide } from "../policy/acl-decide.ts";
import { parseAclDocument } from "../policy/acl-document.ts";
import { policyName } from "../policy/acl-name.ts";
import { BoundedCache } from "./bounded-cache.ts";
import * as builtIn from "./built-in.ts";
import { CompiledAcls } from "./compiled-acls.ts";
import * as failures from "./failures.ts";
import { aclPolicies, policyCodec, type PolicyRecord } from "./policy-record.ts";
import { readPolicyText } from "./policy-text.ts";

const PARSED = { entries: 8_192, cost: 4 * 1024 * 1024 }; // characters of text
const PARSED_COST = 256;

export interface PoliciesOptions {
  /** Of everything below shared/. */
  readonly shared: View;
  readonly clock: Clock;
}

export interface PolicyWrite {
  readonly name: string;
  /** In clear or in base64. */
  readonly text: string;
  /** The version that it replaces; -1 when there must be none. Default: not compared. */
  readonly cas?: number | undefined;
  /** The next write must give `cas`. Default false. */
  readonly casRequired?: boolean | undefined;
  /** When the policy ends by itself. Default: never. */
  readonly expires?: Instant | null | undefined;
}

export interface PolicyWritten {
  readonly name: string;
  readonly version: number;
  readonly warnings: readonly string[];
}

export class Policies {
  readonly #shared: View;
  readonly #clock: Clock;
  readonly #parsed = new BoundedCache<PolicyInForce>(PARSED);
  readonly #acls: CompiledAcls;
  readonly #followed = new Map<string, () => void>(); // namespaces whose changes are watched

  constructor(options: PoliciesOptions) {
    this.#shared = options.shared;
    this.#clock = options.clock;
    this.#acls = new CompiledAcls((id, name) => this.#inForce(id, name), options.clock);
  }

  // --- life ---

  /** In the first transaction of the store. */
  created(tx: Tx): void {
    this.namespaceCreated(tx, ROOT_NAMESPACE.id);
  }

  /** In the transaction that makes a namespace: it gets its own editable `default`. */
  namespaceCreated(tx: Tx, namespaceId: string): void {
    const record: PolicyRecord = {
      text: builtIn.DEFAULT_TEXT,
      version: 1,
      modified: tx.time,
      written: tx.index,
      casRequired: false,
      expires: null,
    };
    tx.on(this.#viewOf(namespaceId)).put(builtIn.DEFAULT, record, policyCodec);
  }

  /** Forgets what it holds: before the node seals. Nothing needs to be loaded when it opens. */
  close(): void {
    for (const unfollow of this.#followed.values()) unfollow();
    this.#followed.clear();
    this.#parsed.clear();
    this.#acls.clear();
  }

  // --- asking ---

  decide(caller: Caller, question: Question): Decision {
    if (!isAtOrBelow(question.namespace, caller.namespace)) return { allowed: false, granting: [] };
    if (caller.type === "management") {
      const granting = [{ name: builtIn.ROOT, namespaceId: caller.namespace.id }];
      return { allowed: true, granting };
    }
    this.#follow(caller.namespace.id);
    const { allowed, granting } = decide(this.#acls.aclFor(caller, question.namespace), question);
    return { allowed, granting };
  }

  /** In the words of capability queries: `root` for management, `deny` for nothing. */
  capabilitiesOf(caller: Caller, namespace: NamespaceRef, path: string): readonly string[] {
    if (!isAtOrBelow(namespace, caller.namespace)) return ["deny"];
    if (caller.type === "management") return ["root"];
    this.#follow(caller.namespace.id);
    const words = capabilitiesOn(this.#acls.aclFor(caller, namespace), path);
    return words.length === 0 ? ["deny"] : words;
  }

  /** Whether the caller may do something at or below a beginning of a path: for what is shown. */
  reaches(caller: Caller, namespace: NamespaceRef, beginning: string): boolean {
    if (!isAtOrBelow(namespace, caller.namespace)) return false;
    if (caller.type === "management") return true;
    this.#follow(caller.namespace.id);
    return this.#acls.aclFor(caller, namespace).reaches(beginning);
  }

  // --- records ---

  /** Null when there is none. `root` has no text. */
  read(namespaceId: string, given: string): PolicyRecord | null {
    const name = policyName(given.trim());
    if (name === null) return null;
    if (name === builtIn.ROOT) return builtInRecord("");
    return living(this.#record(namespaceId, name), this.#clock.now());
  }

  /** Names below a prefix, folders with a slash; without `root`, and what is hidden. */
  list(
    namespaceId: string,
    prefix: string,
    page: { readonly after?: string; readonly limit: number },
  ): string[] {
    return this.#viewOf(namespaceId).list(prefix, page);
  }

  async write(namespaceId: string, write: PolicyWrite): Promise<PolicyWritten> {
    const trimmed = write.name.trim();
    const name = policyName(trimmed);
    if (name === null) throw failures.nameInvalid();
    if (!builtIn.isWritable(name)) throw failures.notWritable(name);
    const { text, document } = readPolicyText(write.text);
    const expires = write.expires ?? null;
    if (expires !== null && expires <= this.#clock.now()) throw failures.alreadyEnded();
    const converted = name === trimmed ? [] : [`policy name was converted to ${name}`];
    const version = await this.#viewOf(namespaceId).write((tx) => {
      const before = living(tx.get(name, policyCodec), this.#clock.now());
      checkVersion(before, write.cas);
      const record: PolicyRecord = {
        text,
        version: (before?.version ?? 0) + 1,
        modified: tx.time,
        written: tx.index,
        casRequired: write.casRequired ?? false,
        expires,
      };
      tx.put(name, record, policyCodec);
      return record.version;
    });
    return { name, version, warnings: [...converted, ...document.warnings] };
  }

  /** Nothing happens when there is none. Tokens keep the name; it counts as empty from now on. */
  async delete(namespaceId: string, given: string): Promise<void> {
    const name = policyName(given.trim());
    if (name === null) return;
    if (!builtIn.isDeletable(name)) throw failures.notDeletable(name);
    await this.#viewOf(namespaceId).write((tx) => tx.delete(name));
  }

  // --- inside ---

  #viewOf(namespaceId: string): View {
    return this.#shared.sub(aclPolicies(namespaceId));
  }

  /** As stored, ended or not. A namespace without a `default` has the one it would have been given. */
  #record(namespaceId: string, name: string): PolicyRecord | null {
    if (name === builtIn.RESPONSE_WRAPPING) return builtInRecord(builtIn.RESPONSE_WRAPPING_TEXT);
    const stored = this.#viewOf(namespaceId).get(name, policyCodec);
    if (name !== builtIn.DEFAULT) return stored;
    return living(stored, this.#clock.now()) ?? builtInRecord(builtIn.DEFAULT_TEXT);
  }

  /** Parsed at the first use after a start or a change, never for each request. One that has ended
   *  is handed on: whoever compiles it leaves it out, and knows until when. */
  #inForce(namespaceId: string, name: string): PolicyInForce | null {
    const key = `${namespaceId}/${name}`;
    const parsed = this.#parsed.get(key);
    if (parsed !== undefined && living(parsed, this.#clock.now()) !== null) return parsed;
    const record = this.#record(namespaceId, name);
    if (record === null) return null;
    const { text, written, expires } = record;
    const policy = { name, namespaceId, document: parsedOrDamaged(name, text), written, expires };
    this.#parsed.put(key, policy, text.length + PARSED_COST);
    return policy;
  }

  /** From the first request of a namespace on, so that a change counts for the next one. */
  #follow(namespaceId: string): void {
    if (this.#followed.has(namespaceId)) return;
    const unfollow = this.#viewOf(namespaceId).watch("", ({ keys }) => {
      for (const name of keys) {
        this.#parsed.drop(`${namespaceId}/${name}`);
        this.#acls.forget(namespaceId, name);
      }
    });
    this.#followed.set(namespaceId, unfollow);
  }
}

function checkVersion(before: PolicyRecord | null, cas: number | undefined): void {
  if (cas === undefined) {
    if (before?.casRequired === true) throw failures.casMissing();
    return;
  }
  if (cas !== (before?.version ?? -1)) throw failures.casMismatch();
}

function builtInRecord(text: string): PolicyRecord {
  const never = { modified: 0n, written: 0n, expires: null };
  return { text, version: 1, casRequired: false, ...never };
}

/** Null for what has ended. */
function living<T extends { readonly expires: Instant | null }>(
  policy: T | null,
  now: Instant,
): T | null {
  if (policy === null) return null;
  return policy.expires !== null && policy.expires <= now ? null : policy;
}

function parsedOrDamaged(name: string, text: string): PolicyInForce["document"] {
  try {
    return parseAclDocument(text);
  } catch {
    throw failures.recordDamaged(name);
  }
}

function isAtOrBelow(below: NamespaceRef, above: NamespaceRef): boolean {
  if (above.path === "") return true;
  return below.path === above.path || below.path.startsWith(`${above.path}/`);
}
