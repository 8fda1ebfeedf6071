// The ACL policies of every namespace: kept, read and written. What a document means is the leaf
// policy/; who may write one is the pipeline's; what they say of a request is rights.ts.

import type { RequestContext } from "@holdfast/shared/endpoint/request";
import { OWN_WORK, type Waiting } from "@holdfast/shared/waiting";
import { inSlices, type Sliced, type Turns, whoSends, type Whose } from "@holdfast/shared/sliced";
import type { Clock } from "@holdfast/shared/world";
import type { Tx, View } from "../barrier/view.ts";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { readAclDocument } from "../acl/document.ts";
import { isPolicyName, policyName } from "@holdfast/shared/text/policy-name";
import { warningsOf } from "../acl/warnings.ts";
import * as builtIn from "./built-in.ts";
import * as failures from "./failures.ts";
import {
  governingCodec,
  governingPolicies,
  type GoverningRecord,
} from "./governing/governing-record.ts";
import { aclPolicies, policyCodec, type PolicyRecord } from "./policy-record.ts";
import type { PolicyIndexRows } from "./policy-indexes.ts";
import { living, type NamePage, type Names, PolicyRows } from "./policy-rows.ts";
import { placeWarnings, type RulePlaces } from "./rule-places.ts";
import { presentText } from "./policy-text.ts";
import { endOf, type PolicyChange, type PolicyWritten, successor } from "./policy-write.ts";

export interface PoliciesOptions {
  /** Of everything below shared/. */
  readonly shared: View;
  readonly clock: Clock;
  /** For warnings about rules that lead nowhere. Default: none are given. */
  readonly places?: RulePlaces;
  /** What goes with a policy that is deleted. Default: nothing hangs on one. */
  readonly indexes?: Pick<PolicyIndexRows, "drop">;
  /** Between the parts of what is long. Default: nobody else is there. */
  readonly turns?: Turns;
}

const NOBODY: Whose = { tenant: "", client: "" };
const AT_ONCE: Turns = { next: async () => {}, step: async (_, work) => work() };

export class Policies {
  readonly #shared: View;
  readonly #clock: Clock;
  readonly #rows: PolicyRows<PolicyRecord>;
  readonly #rgps: PolicyRows<GoverningRecord>; // they share the names
  readonly #places: RulePlaces | null;
  readonly #turns: Turns;
  readonly #indexes: Pick<PolicyIndexRows, "drop"> | null;

  constructor({ shared, clock, places, turns, indexes }: PoliciesOptions) {
    this.#indexes = indexes ?? null;
    this.#places = places ?? null;
    this.#turns = turns ?? AT_ONCE;
    this.#shared = shared;
    this.#clock = clock;
    this.#rows = aclRows({ shared, clock });
    const folder = (id: string) => governingPolicies("rgp", id);
    this.#rgps = new PolicyRows({ shared, clock, kind: "rgp", codec: governingCodec, folder });
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
      created: tx.index,
      written: tx.index,
      casRequired: false,
      expires: null,
    };
    this.#rows.put(tx, namespaceId, builtIn.DEFAULT, record);
  }

  /** The policies of other data: those of a snapshot, to be read. */
  over(shared: View): Policies {
    return new Policies({ shared, clock: this.#clock, turns: this.#turns });
  }

  // --- reading ---

  /** Null when there is none. `root` has no text. */
  read(namespaceId: string, name: string): PolicyRecord | null {
    if (!isPolicyName(name)) return null;
    if (name === builtIn.ROOT) return builtInRecord("");
    return living(this.stored(namespaceId, name), this.#clock.now());
  }

  /** As stored, ended or not. A namespace without a `default` has the one it would have been given. */
  stored(namespaceId: string, name: string): PolicyRecord | null {
    if (name === builtIn.RESPONSE_WRAPPING) return builtInRecord(builtIn.RESPONSE_WRAPPING_TEXT);
    const stored = this.#rows.stored(namespaceId, name);
    if (name !== builtIn.DEFAULT) return stored;
    return living(stored, this.#clock.now()) ?? builtInRecord(builtIn.DEFAULT_TEXT);
  }

  /** Calls with the name of each policy that was written or deleted, before the answer to its writer. */
  watch(namespaceId: string, call: (name: string) => void): () => void {
    return this.#rows.watch(namespaceId, call);
  }

  /** What a name on a token stands for; null when for nothing. */
  kindOf(namespaceId: string, policy: string): "acl" | "rgp" | null {
    if (builtIn.isAlwaysThere(policy)) return "acl"; // as of most tokens: nothing needs to be read
    const name = policyName(policy);
    if (name !== null && this.read(namespaceId, name) !== null) return "acl";
    return name === null || this.#rgps.get(namespaceId, name) === null ? null : "rgp";
  }

  /** Whole names, sorted; `root`, where it belongs, last. */
  names(namespaceId: string, page: NamePage): Names {
    const found = this.#rows.names(namespaceId, page);
    const complete = namespaceId === ROOT_NAMESPACE.id && found.next === null;
    return complete ? { ...found, names: [...found.names, builtIn.ROOT] } : found;
  }

  /** Names inside a folder, which ends in a slash; folders in it with a slash. */
  below(namespaceId: string, folder: string, page: NamePage): Names {
    return this.#rows.below(namespaceId, folder, page);
  }

  /** What takes long, with turns for others. Whoever it is done for is looked at again after each, and where it may
   *  do it no more, or has gone, that was the last. */
  inSlices<T>(work: Sliced<T>, whose: Whose, request: Waiting = OWN_WORK): Promise<T> {
    const turns: Turns = {
      next: (one) => request.waitFor(this.#turns.next(one)),
      step: (one, step) => request.waitFor(this.#turns.step(one, step)),
    };
    return inSlices(work, { clock: this.#clock, turns, whose });
  }

  // --- writing ---

  /** A long document takes turns with others: the request that waits for it is looked at again after that. */
  async write(
    namespaceId: string,
    change: PolicyChange,
    request: RequestContext | null = null, // null: the server itself
  ): Promise<PolicyWritten> {
    const { name } = change;
    const waiting = request ?? OWN_WORK;
    const whose = request === null ? NOBODY : whoSends(request);
    const warnings: string[] = [];
    if (!isPolicyName(name)) throw failures.nameInvalid();
    if (!builtIn.isWritable(name)) throw failures.notWritable(name);
    const { text } = change;
    const document =
      text === undefined
        ? null
        : await this.inSlices(readAclDocument(presentText(text)), whose, waiting);
    const end = endOf(change, this.#clock);
    const next = (tx: Tx | null) => {
      const before = this.#rows.get(namespaceId, name, tx);
      if (this.#rgps.get(namespaceId, name, tx) !== null) throw failures.nameShared();
      const moment = tx ?? { index: this.#shared.index + 1n, time: this.#clock.now() };
      return successor(before, change, end, moment);
    };
    const put = (tx: Tx) => {
      const record = next(tx);
      this.#rows.sweep(tx, namespaceId);
      this.#rgps.delete(tx, namespaceId, name); // at most one that has ended
      this.#rows.put(tx, namespaceId, name, record);
      return record;
    };
    const record = change.trial === true ? next(null) : await this.#shared.write(put);
    if (document !== null) {
      const { rules } = document;
      warnings.push(...(await this.inSlices(warningsOf(rules), whose)));
      if (this.#places !== null) {
        const places = placeWarnings(rules, namespaceId, this.#places);
        warnings.push(...(await this.inSlices(places, whose)));
      }
    }
    return { name, version: record.version, record, warnings };
  }

  /** Nothing happens when there is none. Tokens keep the name; it counts as empty from now on. */
  async delete(namespaceId: string, name: string): Promise<void> {
    if (!isPolicyName(name)) return;
    if (!builtIn.isDeletable(name)) throw failures.notDeletable(name);
    await this.#shared.write((tx) => {
      this.#rows.delete(tx, namespaceId, name);
      this.#indexes?.drop(tx, namespaceId, name);
    });
  }
}

/** Where ACL policies are kept. */
export function aclRows({ shared, clock }: PoliciesOptions): PolicyRows<PolicyRecord> {
  return new PolicyRows({ shared, clock, kind: "acl", codec: policyCodec, folder: aclPolicies });
}

function builtInRecord(text: string): PolicyRecord {
  const never = { modified: 0n, created: 0n, written: 0n, expires: null };
  return { text, version: 1, casRequired: false, ...never };
}
