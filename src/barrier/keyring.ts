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
import { exportKey, freshKey, secretKey } from "../crypto/aead.ts";
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
  /** Entries sealed so far, counted upwards in memory. */
  encryptions: number;
}

interface Document {
  version: number;
  active_term: number;
  keys: { term: number; value: string; installed: string; encryptions: number }[];
  rotation: { enabled: boolean; max_operations: number; interval: string };
  margin: number;
  root_key: string;
}

export class Keyring {
  readonly #terms: ReadonlyMap<number, Term>;
  readonly #newest: Term;
  readonly rootKey: KeyObject;
  readonly rotation: Rotation;

  private constructor(terms: readonly Term[], rootKey: KeyObject, rotation: Rotation) {
    this.#terms = new Map(terms.map((term) => [term.term, term]));
    const newest = terms.at(-1);
    invariant(newest !== undefined, "a keyring has at least one key");
    this.#newest = newest;
    this.rootKey = rootKey;
    this.rotation = rotation;
  }

  static fresh(random: Random, rootKey: KeyObject, now: Instant): Keyring {
    const first = { term: 1, key: freshKey(random), installed: now, encryptions: 0 };
    const rotation = { enabled: true, maxOperations: MAX_OPERATIONS, interval: 0n };
    return new Keyring([first], rootKey, rotation);
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
    return other.#terms.values().every(({ term, key }) => this.key(term)?.equals(key) ?? false);
  }

  rotated(random: Random, now: Instant): Keyring {
    const term = this.#newest.term + 1;
    const next = { term, key: freshKey(random), installed: now, encryptions: 0 };
    return new Keyring([...this.#terms.values(), next], this.rootKey, this.rotation);
  }

  /** With a key that somebody else has installed; one that is there already changes nothing. */
  withTerm({ term, key }: NewTerm, installed: Instant): Keyring {
    if (this.#terms.has(term)) return this;
    const terms = [...this.#terms.values(), { term, key, installed, encryptions: 0 }];
    return new Keyring(
      terms.toSorted((a, b) => a.term - b.term),
      this.rootKey,
      this.rotation,
    );
  }

  withRootKey(rootKey: KeyObject): Keyring {
    return new Keyring([...this.#terms.values()], rootKey, this.rotation);
  }

  withRotation(rotation: Rotation): Keyring {
    return new Keyring([...this.#terms.values()], this.rootKey, rotation);
  }

  /** Whether the newest key has done its share or is too old. */
  isDue(now: Instant): boolean {
    const { enabled, maxOperations, interval } = this.rotation;
    if (!enabled) return false;
    if (this.#newest.encryptions >= maxOperations) return true;
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
    for (const { term, key, installed, encryptions } of this.#terms.values()) {
      parts.push(utf8(`${separator}{"term":${term},"value":"`));
      secret(key);
      const time = showTime(installed);
      parts.push(utf8(`","installed":"${time}","encryptions":${encryptions}}`));
      separator = ",";
    }
    const { enabled, maxOperations, interval } = this.rotation;
    const view = { enabled, max_operations: maxOperations, interval: showDuration(interval) };
    parts.push(utf8(`],"rotation":${JSON.stringify(view)},"margin":${margin},"root_key":"`));
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
      if (keys.length === 0 || keys.length !== document.keys.length) return null;
      const terms = document.keys.map(({ term, installed, encryptions }, i) => ({
        term,
        key: keys[i]!,
        installed: parseTime(installed) ?? 0n,
        encryptions,
      }));
      const newest = terms.at(-1)!;
      if (newest.term !== document.active_term) return null;
      if (terms.some(({ term }, i) => i > 0 && term <= terms[i - 1]!.term)) return null;
      newest.encryptions += document.margin;
      const { enabled, max_operations: maxOperations, interval } = document.rotation;
      const rotation = { enabled, maxOperations, interval: parseDuration(interval) };
      return new Keyring(terms, rootKey, rotation);
    } catch (error) {
      // Not JSON, or a time or duration that is none.
      if (error instanceof SyntaxError || error instanceof Failure) return null;
      throw error;
    } finally {
      wipe(bytes);
    }
  }
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
    document.keys.every((key) => isCount(key?.term) && key.term > 0 && isCount(key.encryptions))
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
