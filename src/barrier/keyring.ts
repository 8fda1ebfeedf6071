// The data keys: one per term, only the newest encrypts, all of them decrypt. Knows its own document
// and how many entries each key has sealed; knows nothing of storage.

import type { KeyObject } from "node:crypto";
import { concat, text, utf8, wipe } from "@holdfast/shared/bytes";
import { parseDuration, showDuration } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { isCount } from "@holdfast/shared/json/json";
import { invariant } from "@holdfast/shared/invariant";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import type { Instant, Nanos, Random } from "@holdfast/shared/world";
import { entryTerm, exportKey, freshKey, openEntry, secretKey } from "../crypto/aead.ts";
import { keyFromText, keyText } from "./key-text.ts";

/** 90 % of 2^32: random 96-bit nonces repeat with a chance of about 2^-32 at that many entries. */
export const MAX_OPERATIONS = 3_865_470_566;
export const MIN_OPERATIONS = 1_000_000;
const KEY_BYTES = 32;

export interface Rotation {
  readonly enabled: boolean;
  readonly maxOperations: number;
  readonly interval: Nanos; // 0: by count only
}

export interface NewTerm {
  readonly term: number;
  readonly key: KeyObject;
}

export interface Term {
  readonly term: number;
  readonly key: KeyObject;
  readonly installed: Instant;
  /** Entries that this cluster has sealed so far, counted upwards in memory. */
  encryptions: number;
  /** Those that other clusters of the set have sealed with the same key, as far as they have said so. */
  elsewhere: number;
}

/** How the keys of another member of the set stand to these. */
export type Standing =
  | "same"
  | "ahead" // every key that seals here opens there, also one that was given up there since
  | "behind" // a key is missing there, or its root key was replaced since
  | "apart"; // one place in both is taken by two keys: they have a common past at most

interface Document {
  version: number;
  active_term: number;
  keys: {
    term: number;
    value: string;
    installed: string;
    encryptions: number;
    elsewhere?: number;
  }[];
  rotation: { enabled: boolean; max_operations: number; interval: string };
  margin: number;
  retired?: { term: number; value: string }[];
  root_generation?: number;
  root_key: string;
}

interface Parts {
  readonly terms: readonly Term[];
  readonly retired: readonly NewTerm[];
  readonly rootKey: KeyObject;
  readonly generation: number;
  readonly rotation: Rotation;
}

export class Keyring {
  readonly #terms: ReadonlyMap<number, Term>;
  /** Keys whose places others have taken: what they have sealed still opens, and nothing more is sealed with them. */
  readonly #retired: readonly NewTerm[];
  readonly #newest: Term;
  readonly rootKey: KeyObject;
  /** How many root keys there have been: raised whenever it is replaced. */
  readonly generation: number;
  readonly rotation: Rotation;

  private constructor({ terms, retired, rootKey, generation, rotation }: Parts) {
    this.#retired = retired;
    this.#terms = new Map(terms.map((term) => [term.term, term]));
    const newest = terms.at(-1);
    invariant(newest !== undefined, "a keyring has at least one key");
    this.#newest = newest;
    this.rootKey = rootKey;
    this.generation = generation;
    this.rotation = rotation;
  }

  static fresh(random: Random, rootKey: KeyObject, now: Instant): Keyring {
    const first = unused({ term: 1, key: freshKey(random) }, now);
    const rotation = { enabled: true, maxOperations: MAX_OPERATIONS, interval: 0n };
    return new Keyring({ terms: [first], retired: [], rootKey, generation: 1, rotation });
  }

  get newest(): Term {
    return this.#newest;
  }

  get size(): number {
    return this.#terms.size;
  }

  key(term: number): KeyObject | null {
    return this.#terms.get(term)?.key ?? null;
  }

  /** Whether it opens everything that the other one does. */
  covers(other: Keyring): boolean {
    return [...other.#terms.values(), ...other.#retired].every((term) => this.holds(term));
  }

  /** To seal with or to open what it has sealed. */
  holds({ term, key }: NewTerm): boolean {
    return this.key(term)?.equals(key) === true || this.#gaveUp({ term, key });
  }

  #gaveUp({ term, key }: NewTerm): boolean {
    return this.#retired.some((one) => one.term === term && one.key.equals(key));
  }

  /** Whether the key is here that an entry says it is sealed under; true for what is no entry. */
  hasKeyOf(sealed: Uint8Array): boolean {
    const term = entryTerm(sealed);
    return (
      term === null || this.key(term) !== null || this.#retired.some((one) => one.term === term)
    );
  }

  /** The plaintext of an entry, or null. */
  open(path: string, sealed: Uint8Array): Buffer | null {
    const term = entryTerm(sealed);
    const key = term === null ? null : this.key(term);
    const plaintext = key === null ? null : openEntry(key, path, sealed);
    if (plaintext !== null || this.#retired.length === 0) return plaintext;
    for (const one of this.#retired) {
      const opened = one.term === term ? openEntry(one.key, path, sealed) : null;
      if (opened !== null) return opened;
    }
    return null;
  }

  rotated(random: Random, now: Instant): Keyring {
    const next = unused({ term: this.#newest.term + 1, key: freshKey(random) }, now);
    return this.#with({ terms: [...this.#terms.values(), next] });
  }

  /** With a key that somebody else has installed; one that is there already changes nothing. */
  withTerm(added: NewTerm, installed: Instant): Keyring {
    if (this.#terms.has(added.term)) return this;
    const terms = [...this.#terms.values(), unused(added, installed)];
    return this.#with({ terms: terms.toSorted((a, b) => a.term - b.term) });
  }

  withRootKey(rootKey: KeyObject): Keyring {
    return this.#with({ rootKey, generation: this.generation + 1 });
  }

  withRotation(rotation: Rotation): Keyring {
    return this.#with({ rotation });
  }

  standingOf(other: Keyring): Standing {
    const { generation } = other;
    const sameRoot = this.rootKey.equals(other.rootKey);
    if (sameRoot !== (generation === this.generation)) return "apart";
    const own = [...this.#terms.values()];
    const isSealing = ({ term, key }: Term) => other.key(term)?.equals(key) === true;
    if (generation >= this.generation && own.every((term) => other.holds(term))) {
      const isSame =
        generation === this.generation && other.size === this.size && own.every(isSealing);
      return isSame && this.covers(other) ? "same" : "ahead";
    }
    return own.some((term) => other.#terms.has(term.term) && !isSealing(term)) ? "apart" : "behind";
  }

  /** Whether it seals as the other one does, or with what came after it. */
  goesBy(other: Keyring): boolean {
    const { term: newest } = other.#newest;
    const isOthers = (own: Term) =>
      own.term > newest ? !other.#gaveUp(own) : other.key(own.term)?.equals(own.key) === true;
    return this.covers(other) && this.#terms.values().every(isOthers);
  }

  /** The keys of another member as this cluster begins with them: what was sealed until now, it has not. */
  asElsewhere(): Keyring {
    const terms = this.#terms.values().map((term) => ({
      ...term,
      encryptions: 0,
      elsewhere: sealedUnder(term),
    }));
    return this.#with({ terms: [...terms] });
  }

  /**
   * The keys of another member in the place of these; what was counted here stays counted. Where it is ahead, it has
   * all of these; otherwise those that it has not are given up.
   */
  replacedBy(other: Keyring): Keyring {
    const terms = other.asElsewhere().#terms.values().map((term) => {
      const own = this.#terms.get(term.term);
      if (own === undefined || !own.key.equals(term.key)) return term;
      own.elsewhere = Math.max(own.elsewhere, term.elsewhere);
      return own;
    });
    const { rootKey, generation, rotation } = other;
    const before = [...this.#terms.values(), ...this.#retired, ...other.#retired];
    const retired: NewTerm[] = [];
    for (const { term, key } of before) {
      const isThere = [...other.#terms.values(), ...retired].some(
        (one) => one.term === term && one.key.equals(key),
      );
      if (!isThere) retired.push({ term, key });
    }
    return new Keyring({ terms: [...terms], retired, rootKey, generation, rotation });
  }

  /** Whether the newest key has done its share or is too old. */
  isDue(now: Instant): boolean {
    const { enabled, maxOperations, interval } = this.rotation;
    if (!enabled) return false;
    if (sealedUnder(this.#newest) >= maxOperations) return true;
    return interval > 0n && now - this.#newest.installed >= interval;
  }

  /**
   * The document, keys included: the caller seals and wipes it. `margin` is what may be sealed under
   * the newest key before the count is stored again; a reader after a crash adds it.
   */
  encode(margin: number): Buffer {
    const parts: Buffer[] = [];
    const secret = (key: KeyObject) => {
      const raw = exportKey(key);
      parts.push(keyText(raw));
      wipe(raw);
    };
    parts.push(utf8(`{"version":1,"active_term":${this.#newest.term},"keys":[`));
    let separator = "";
    for (const { term, key, installed, encryptions, elsewhere } of this.#terms.values()) {
      parts.push(utf8(`${separator}{"term":${term},"value":"`));
      secret(key);
      const counts = `"encryptions":${encryptions},"elsewhere":${elsewhere}`;
      parts.push(utf8(`","installed":"${showTime(installed)}",${counts}}`));
      separator = ",";
    }
    if (this.#retired.length > 0) {
      parts.push(utf8(`],"retired":[`));
      for (const [i, { term, key }] of this.#retired.entries()) {
        parts.push(utf8(`${i === 0 ? "" : ","}{"term":${term},"value":"`));
        secret(key);
        parts.push(utf8(`"}`));
      }
    }
    const { enabled, maxOperations, interval } = this.rotation;
    const view = { enabled, max_operations: maxOperations, interval: showDuration(interval) };
    parts.push(utf8(`],"rotation":${JSON.stringify(view)},"margin":${margin},`));
    parts.push(utf8(`"root_generation":${this.generation},"root_key":"`));
    secret(this.rootKey);
    parts.push(utf8(`"}`));
    const whole = concat(...parts);
    for (const part of parts) wipe(part);
    return whole;
  }

  /** Reads a document, counts the margin of a crash in, and wipes the bytes. Null if malformed. */
  static decode(bytes: Buffer): Keyring | null {
    const keys: KeyObject[] = [];
    try {
      // Key texts are cut out of the bytes before anything becomes a string.
      for (const at of keyPlaces(bytes)) {
        const keyText = bytes.subarray(at, at + 44);
        const raw = keyFromText(keyText, KEY_BYTES);
        if (raw === null) return null;
        keys.push(secretKey(raw));
        keyText.fill("A");
      }
      const document: unknown = JSON.parse(text(bytes));
      const rootKey = keys.pop();
      if (!isDocument(document) || rootKey === undefined) return null;
      const { retired: others = [] } = document;
      const count = document.keys.length;
      if (count === 0 || keys.length !== count + others.length) return null;
      const retired = others.map(({ term }, i) => ({ term, key: keys[count + i]! }));
      const terms = document.keys.map(({ term, installed, encryptions, elsewhere = 0 }, i) => ({
        term,
        key: keys[i]!,
        installed: parseTime(installed) ?? 0n,
        encryptions,
        elsewhere,
      }));
      const newest = terms.at(-1)!;
      if (newest.term !== document.active_term) return null;
      if (terms.some(({ term }, i) => i > 0 && term <= terms[i - 1]!.term)) return null;
      newest.encryptions += document.margin;
      const { enabled, max_operations: maxOperations, interval } = document.rotation;
      const rotation = { enabled, maxOperations, interval: parseDuration(interval) };
      const { root_generation: generation = 1 } = document;
      return new Keyring({ terms, retired, rootKey, generation, rotation });
    } catch (error) {
      // Not JSON, or a time or duration that is none.
      if (error instanceof SyntaxError || error instanceof Failure) return null;
      throw error;
    } finally {
      wipe(bytes);
    }
  }

  #with(changed: Partial<Parts>): Keyring {
    const { rootKey, generation, rotation } = this;
    const terms = changed.terms ?? [...this.#terms.values()];
    const retired = this.#retired;
    return new Keyring({ retired, rootKey, generation, rotation, ...changed, terms });
  }
}

function unused({ term, key }: NewTerm, installed: Instant): Term {
  return { term, key, installed, encryptions: 0, elsewhere: 0 };
}

/** By whomever: a nonce must not come twice in the whole set. */
export function sealedUnder({ encryptions, elsewhere }: Term): number {
  return encryptions + elsewhere;
}

function isDocument(value: unknown): value is Document {
  const document = value as Partial<Document> | null;
  return (
    document?.version === 1 &&
    isCount(document.active_term) &&
    isCount(document.margin) &&
    typeof document.rotation?.enabled === "boolean" &&
    isCount(document.rotation.max_operations) &&
    Array.isArray(document.keys) &&
    isCount(document.root_generation ?? 1) &&
    Array.isArray(document.retired ?? []) &&
    (document.retired ?? []).every((key) => isCount(key?.term) && key.term > 0) &&
    document.keys.every(
      (key) =>
        isCount(key?.term) &&
        key.term > 0 &&
        isCount(key.encryptions) &&
        isCount(key.elsewhere ?? 0),
    )
  );
}

/** Where the key texts of a document begin. */
function* keyPlaces(bytes: Buffer): Generator<number> {
  for (const name of ['"value":"', '"root_key":"']) {
    for (let at = bytes.indexOf(name); at >= 0; at = bytes.indexOf(name, at + 1)) {
      yield at + name.length;
    }
  }
}
