// Evidence: reports that the server signs, numbered, each naming the one before it, for people who do not trust it
// or are not there. Whoever has something to report calls sign(); keys, order and form are this room's.

import { wipe } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { DAY } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import { invariant } from "@holdfast/shared/invariant";
import type { JsonObject } from "@holdfast/shared/json/json";
import { isAtOrBelow, type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { Clock, Instant, Nanos, Random } from "@holdfast/shared/world";
import type { Tx, View, ViewReads } from "../barrier/view.ts";
import {
  type Envelope,
  envelopeOf,
  isSignedBy,
  type OpenEnvelope,
  readPublicKey,
  sha256,
} from "../signed/envelope.ts";
import { KEY_MADE, NEVER_PROVEN, type ReportKind } from "../signed/kinds.ts";
import {
  type AuditAnchor,
  EVIDENCE_TYPE,
  type Report,
  reportBytes,
  type ReportInput,
} from "../signed/report.ts";
import * as rows from "./evidence-rows.ts";
import * as failures from "./failures.ts";
import { readEarlier } from "./unproven-rows.ts";
import {
  newSigningKey,
  readSigningKey,
  signedBy,
  signedLater,
  type SigningKey,
} from "./signing-key.ts";

const KEY_LIFE: Nanos = 365n * DAY;
const KEPT_FOR: Nanos = 400n * DAY;
const KEPT_BYTES = 64 * 1024 * 1024;
const DROPPED_AT_ONCE = 64; // reports in one transaction
const ESSENTIAL = { essential: true }; // a full disk keeps nobody from unsealing

export interface EvidenceOptions {
  /** core/evidence/ */
  readonly view: View;
  /** core/ */
  readonly node: View;
  readonly clock: Pick<Clock, "now">;
  readonly random: Pick<Random, "bytes" | "uuid">;
  readonly version: string;
  /** As it is stored below core/. */
  readonly cluster: (node: ViewReads) => { readonly id: string; readonly name: string };
  /** How far the audit devices with a chain have come. */
  readonly audit: () => readonly AuditAnchor[];
  /** Where the write log stands; null before there is one. */
  readonly position: () => { readonly index: bigint; readonly chain: string } | null;
  /** Kept at most. Default 64 MiB. */
  readonly keptBytes?: number;
}

/** What somebody has to report. */
export interface NewReport {
  readonly kind: ReportKind;
  /** Default root. */
  readonly namespace?: Pick<NamespaceRef, "id" | "path">;
  readonly period?: { readonly from: Instant; readonly to: Instant };
  /** What it is about. */
  readonly subject: JsonObject;
  /** What was found, with a word for it as `state`. */
  readonly result: JsonObject & { readonly state: string };
  readonly inputs?: readonly ReportInput[];
  /** One sentence for people. */
  readonly statement: string;
  /** Beside what reports of this kind never prove. */
  readonly notProven?: readonly string[];
}

/** Its place among others: those of this room, or in a row of its own. */
interface Place {
  readonly number: number;
  readonly previous: string | null;
}

export interface SignedReport {
  readonly id: string;
  readonly number: number;
  readonly digest: string;
  readonly made: string;
  readonly envelope: Envelope;
}

export interface FoundReport extends SignedReport {
  readonly kind: string;
  /** Nobody here vouches for it. */
  readonly isUnproven?: true;
}

/** Why there is a new key. */
const REASONS = {
  first: "it was made with the store",
  rotated: "the one before it has signed for a year",
  begun: "this store had none: it is of an older version, or was restored with keys of its own",
  broken: "the private half of the one before it is lost",
  exchanged: "the data was exchanged for that of a snapshot with keys of its own",
} as const;

export class Evidence {
  readonly #options: EvidenceOptions;
  #key: SigningKey | null = null;
  #fingerprint: string | null = null;
  #unwatch: () => void = () => {};

  constructor(options: EvidenceOptions) {
    this.#options = options;
  }

  // --- life ---

  /** In the transaction that makes the store. */
  created(tx: Tx): void {
    this.#fingerprint = this.#newKey(tx.on(this.#options.view), "first").fingerprint;
  }

  open(): void {
    this.#unwatch = rows.watchRing(this.#options.view, () => this.#load());
    try {
      this.#load();
    } catch (error) {
      // Whoever leads meets it again, unless what this process has carried here takes its place first.
      if (!(error instanceof Failure) || error.kind !== "damaged") throw error;
      this.#fingerprint = null;
    }
  }

  close(): void {
    this.#unwatch();
    this.#key = null;
  }

  #load(): void {
    this.#fingerprint = this.keys().at(-1)?.fingerprint ?? null;
  }

  /** A key that is due is made, and what is old goes. */
  async tidy(isOpen: () => boolean = () => true): Promise<void> {
    const { view, clock } = this.#options;
    if (this.#isKeyDue(view, clock.now())) {
      await view.write((tx) => void this.#currentKey(tx), ESSENTIAL);
    }
    while (isOpen() && this.#hasOld(view, clock.now())) {
      await view.write((tx) => this.#drop(tx), ESSENTIAL);
    }
  }

  /** Of the key that signs; null while nobody has seen one here. */
  get fingerprint(): string | null {
    return this.#fingerprint;
  }

  /** The first is the oldest. */
  keys(): readonly rows.KeyRecord[] {
    return rows.readRing(this.#options.view)?.keys ?? [];
  }

  // --- going over to data of other keys ---

  /** The report that ends what is here: it names the key that goes on, and is signed by the present one and by that
   *  one. Nothing is written. `der` is to be wiped by whoever asked for it. */
  handOver(about: Pick<NewReport, "subject" | "inputs"> & { readonly result: JsonObject }): {
    readonly envelope: Envelope;
    readonly der: Buffer;
  } {
    const { view, node, clock, cluster, random } = this.#options;
    const before = this.#storedKey(view);
    const { key, der } = newSigningKey(random);
    const { number, digest } = rows.readHead(view);
    const place = { number: number + 1, previous: number === 0 ? null : digest };
    const report = keyReport(key, "exchanged", before);
    const subject = { ...about.subject, ...report.subject };
    const result = { ...about.result, ...report.result };
    const named = { ...report, ...about, subject, result };
    const signers = before === null ? [key] : [before, key];
    const made = this.#compose(named, place, clock.now(), cluster(node));
    return { envelope: signedReport(made, signers).envelope, der };
  }

  // --- signing ---

  sign(report: NewReport): Promise<SignedReport> {
    return this.#options.view.write((tx) => this.#signIn(tx, report));
  }

  /** In a transaction of somebody else. */
  signIn(tx: Tx, report: NewReport): SignedReport {
    return this.#signIn(tx.on(this.#options.view), report);
  }

  /** A report with a row of numbers of its own, which whoever asks for it keeps. */
  async signApart(report: NewReport, place: Place): Promise<SignedReport> {
    const { view, node, clock } = this.#options;
    const key = this.#storedKey(view);
    invariant(key !== null, "a node that leads has a key");
    const made = this.#compose(report, place, clock.now(), this.#options.cluster(node));
    const payload = reportBytes(made);
    const signature = await signedLater(key, EVIDENCE_TYPE, payload);
    return finished(made, payload, envelopeOf(EVIDENCE_TYPE, payload, [signature]));
  }

  /** Whether one of these keys has signed it as evidence; those that nobody vouches for count for nothing. */
  hasSigned(envelope: OpenEnvelope): boolean {
    if (envelope.payloadType !== EVIDENCE_TYPE) return false;
    const names = new Set(envelope.signatures.map(({ keyid }) => keyid));
    return this.keys().some(({ fingerprint, publicKey: pem, unproven }) => {
      const isMeant = names.has(fingerprint) && unproven !== true;
      const publicKey = isMeant ? readPublicKey(pem) : null;
      return publicKey !== null && isSignedBy(envelope, { fingerprint, publicKey });
    });
  }

  #signIn(tx: Tx, report: NewReport): SignedReport {
    const key = this.#currentKey(tx);
    const signed = this.#append(tx, report, [key]);
    this.#drop(tx);
    return signed;
  }

  #append(tx: Tx, report: NewReport, signers: readonly SigningKey[]): SignedReport {
    const { node, cluster } = this.#options;
    const { number, digest } = rows.readHead(tx);
    const place = { number: number + 1, previous: number === 0 ? null : digest };
    const made = this.#compose(report, place, tx.time, cluster(tx.on(node)));
    const signed = signedReport(made, signers);
    rows.putReport(tx, place.number, rows.keptReport(made, signed, tx.time));
    return signed;
  }

  #compose(
    report: NewReport,
    { number, previous }: Place,
    now: Instant,
    cluster: Report["cluster"],
  ): Report {
    const { random, version, audit } = this.#options;
    const { kind, namespace = ROOT_NAMESPACE, period, subject, result, statement } = report;
    const position = this.#options.position();
    return {
      kind: kind.kind,
      id: random.uuid(),
      number,
      previous,
      cluster: { id: cluster.id, name: cluster.name },
      namespace: { id: namespace.id, path: namespace.path },
      made_at: showTime(now),
      period:
        period === undefined ? null : { from: showTime(period.from), to: showTime(period.to) },
      subject,
      result,
      inputs: report.inputs ?? [],
      audit: audit(),
      log: position === null ? null : { index: Number(position.index), chain: position.chain },
      software: { name: "holdfast", version },
      statement,
      not_proven: [...NEVER_PROVEN, ...kind.notProven, ...(report.notProven ?? [])],
    };
  }

  // --- keys ---

  /** The key that signs now: made where there is none, or where its year is over. */
  #currentKey(tx: Tx): SigningKey {
    const ring = rows.readRing(tx);
    if (ring === null) return this.#newKey(tx, "begun");
    const key = this.#storedKey(tx);
    if (key === null) return this.#newKey(tx, "broken");
    return isOver(ring, tx.time) ? this.#newKey(tx, "rotated", key) : key;
  }

  #isKeyDue(view: ViewReads, now: Instant): boolean {
    const ring = rows.readRing(view);
    return ring === null || isOver(ring, now) || this.#storedKey(view) === null;
  }

  #storedKey(view: ViewReads): SigningKey | null {
    const last = rows.readRing(view)?.keys.at(-1);
    if (last === undefined) return null;
    if (this.#key?.fingerprint === last.fingerprint) return this.#key;
    const der = rows.readSecret(view, last.fingerprint);
    if (der === null) return null;
    this.#key = readSigningKey(der);
    return this.#key;
  }

  /** Named by itself, and by the one before it, if that can still sign. */
  #newKey(tx: Tx, state: keyof typeof REASONS, before: SigningKey | null = null): SigningKey {
    const { key, der } = newSigningKey(this.#options.random);
    try {
      const { fingerprint, publicKey } = key;
      const { envelope, made } = this.#append(
        tx,
        keyReport(key, state, before),
        before === null ? [key] : [before, key],
      );
      rows.putKey(tx, { fingerprint, publicKey, made, statement: envelope }, tx.time, der);
      return key;
    } finally {
      wipe(der);
    }
  }

  // --- what is kept ---

  find(idOrNumber: string, namespace: NamespaceRef): FoundReport {
    const { view } = this.#options;
    const { number: last, first } = rows.readHead(view);
    const number = isNumber(idOrNumber) ? Number(idOrNumber) : rows.numberOfId(view, idOrNumber);
    if (number === null || number < 1 || number > last) throw failures.evidenceUnknown();
    if (number < first) return this.#findEarlier(number, namespace);
    const kept = rows.readReport(view, number);
    if (kept === null || !isAtOrBelow(kept.namespace, namespace)) throw failures.evidenceUnknown();
    return { ...kept, number };
  }

  /** What is no longer kept, or was never signed here: for the root namespace alone, since nothing says whose it was. */
  #findEarlier(number: number, namespace: NamespaceRef): FoundReport {
    const { view } = this.#options;
    if (namespace.path !== "") throw failures.evidenceUnknown();
    const earlier = readEarlier(view, number);
    if (earlier !== null) return { ...earlier, isUnproven: true };
    const digest = rows.droppedDigest(view, number);
    throw digest === null ? failures.evidenceUnknown() : failures.evidenceDropped(number, digest);
  }

  /** Of one namespace, the oldest first. */
  list(
    namespace: NamespaceRef,
    { after, limit }: { readonly after: string | undefined; readonly limit: number },
  ): readonly (rows.ListedReport & { readonly number: number })[] {
    const { view } = this.#options;
    const from =
      after === undefined ? 0 : isNumber(after) ? Number(after) : rows.numberOfId(view, after);
    if (from === null) throw failures.afterUnknown();
    const found = rows.listReports(view, namespace.id, { after: from, limit });
    return found.map(({ number, report }) => ({ ...report, number }));
  }

  #hasOld(view: ViewReads, now: Instant): boolean {
    const { number, first, bytes } = rows.readHead(view);
    if (first >= number) return false; // the last stays: the next one names it
    if (bytes > (this.#options.keptBytes ?? KEPT_BYTES)) return true;
    const oldest = rows.readReport(view, first);
    return oldest !== null && now - BigInt(oldest.at) > KEPT_FOR;
  }

  #drop(tx: Tx): void {
    for (let i = 0; i < DROPPED_AT_ONCE && this.#hasOld(tx, tx.time); i++) rows.dropOldest(tx);
  }
}

function keyReport(
  { fingerprint, publicKey }: SigningKey,
  state: keyof typeof REASONS,
  before: SigningKey | null,
): NewReport {
  const isLinked = state === "first" || before !== null;
  return {
    kind: KEY_MADE,
    subject: { fingerprint, public_key: publicKey },
    result: { state, previous_key: before?.fingerprint ?? null },
    statement: `From here on evidence is signed with the key ${fingerprint}: ${REASONS[state]}.`,
    notProven: isLinked ? [] : ["any link between this key and keys of this cluster before it"],
  };
}

function signedReport(report: Report, signers: readonly SigningKey[]): SignedReport {
  const payload = reportBytes(report);
  const signatures = signers.map((signer) => signedBy(signer, EVIDENCE_TYPE, payload));
  return finished(report, payload, envelopeOf(EVIDENCE_TYPE, payload, signatures));
}

function finished(report: Report, payload: Uint8Array, envelope: Envelope): SignedReport {
  const { id, number, made_at: made } = report;
  return { id, number, digest: sha256(payload), made, envelope };
}

function isOver({ since }: rows.Ring, now: Instant): boolean {
  return now - BigInt(since) >= KEY_LIFE;
}

function isNumber(text: string): boolean {
  return /^[1-9][0-9]{0,11}$/.test(text);
}
