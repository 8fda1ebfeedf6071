// Snapshots in a bucket of clouda-store: signed requests, parts with a sum each, and a look at what is there
// before it counts as written.

import { createHash } from "node:crypto";
import { base64, concat, hex } from "@holdfast/shared/bytes";
import { orGone } from "../targets/gone.ts";
import { checkWhole, feed, partsOf } from "../targets/source-sums.ts";
import { type CloudASettings, objectFolder } from "../targets/settings.ts";
import {
  type StoreAnswer,
  StoreCalls,
  type StoreNeeds,
  type StoreRequest,
} from "../targets/store-calls.ts";
import { StoreError, storeRefuses } from "../targets/store-error.ts";
import {
  type BegunPut,
  byAge,
  isOurName,
  type PutOptions,
  type Source,
} from "../targets/target.ts";
import type { PutSnapshot, StoredSnapshot, Target } from "../targets/target.ts";
import type { Surroundings } from "../targets/credential-files.ts";
import { childrenOf, escaped, readXml, textOf } from "../targets/xml.ts";
import { type BucketUrl, bucketUrl } from "./bucket-url.ts";
import { signingKeys } from "./credentials.ts";
import { queryOf, sha256Hex, signed, type SigningKeys } from "./sigv4.ts";

const PART = 16 * 1024 * 1024;
const MAX_PARTS = 10_000;
const MAX_PAGES = 100;
const NO_BODY = sha256Hex("");
const PASSING = ["SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "Throttling"];
const SHA256 = "x-amz-meta-sha256";

interface Wanted {
  readonly step: string;
  readonly method: string;
  /** Without one: the bucket. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Body;
  readonly expects?: readonly number[];
}

interface Body {
  /** In hex. */
  readonly sha256: string;
  readonly open: () => NonNullable<StoreRequest["body"]>;
}

/** What a part came to. */
interface Part {
  readonly etag: string;
  readonly sum: Buffer;
}

export class CloudAStore implements Target {
  readonly #settings: CloudASettings;
  readonly #needs: StoreNeeds;
  readonly #url: BucketUrl;
  readonly #keys: SigningKeys;
  readonly #calls: StoreCalls;
  readonly #folder: string;

  constructor(settings: CloudASettings, needs: StoreNeeds, around: Surroundings) {
    this.#settings = settings;
    this.#needs = needs;
    this.#url = bucketUrl(settings, needs.outbound);
    this.#keys = signingKeys(settings, around);
    this.#folder = objectFolder(settings.pathPrefix);
    const { accessKeyId, secretAccessKey, sessionToken } = this.#keys;
    this.#calls = new StoreCalls(needs, {
      plain: this.#url.plain,
      identity: accessKeyId,
      secrets: () => [secretAccessKey, sessionToken],
      saidBy,
      passing: PASSING,
    });
  }

  urlOf(name: string): string {
    return this.#url.visible(this.#folder + name);
  }

  async checkRoom(): Promise<void> {}

  async put(name: string, source: Source, options: PutOptions): Promise<void> {
    const key = this.#folder + name;
    const parts = partsOf(source.size, this.#needs.partBytes ?? PART, MAX_PARTS);
    const sum =
      parts.length <= 1
        ? await this.#putAtOnce(key, source, options)
        : await this.#putInParts(key, source, parts, options);
    const whole = await this.#isWhole(key, source, sum, options.signal);
    if (!whole) {
      throw storeRefuses("checking the snapshot", "what the store holds is not what was sent");
    }
  }

  async list(signal: AbortSignal): Promise<StoredSnapshot[]> {
    const { filePrefix } = this.#settings;
    const prefix = `${this.#folder}${filePrefix}-`;
    const found: StoredSnapshot[] = [];
    let token = "";
    for (let page = 0; page < MAX_PAGES; page++) {
      const step = "listing snapshots";
      const next = token === "" ? {} : { "continuation-token": token };
      const query = { "list-type": "2", "max-keys": "1000", prefix, ...next };
      const answer = await this.#send({ step, method: "GET", query }, signal);
      const listing = readXml(answer.text);
      if (listing?.name !== "ListBucketResult") throw notSpoken(step);
      for (const entry of childrenOf(listing, "Contents")) {
        const key = textOf(entry, "Key");
        const name = key.startsWith(this.#folder) ? key.slice(this.#folder.length) : "";
        if (isOurName(filePrefix, name)) found.push({ name, size: Number(textOf(entry, "Size")) });
      }
      token = textOf(listing, "NextContinuationToken");
      if (textOf(listing, "IsTruncated") !== "true" || token === "") return found.sort(byAge);
    }
    throw storeRefuses("listing snapshots", `there are more than ${MAX_PAGES} pages of them`);
  }

  async holds({ name, size, sha256 }: PutSnapshot, signal: AbortSignal): Promise<boolean> {
    const head = await this.#head(this.#folder + name, signal);
    return head !== null && isSame(head, { size, sha256 });
  }

  async delete(name: string, signal: AbortSignal): Promise<void> {
    await this.#deleteKey(this.#folder + name, signal);
  }

  async read(name: string, signal: AbortSignal) {
    const call = this.#call({
      step: "reading a snapshot",
      method: "GET",
      key: this.#folder + name,
      expects: [200],
    });
    const { headers, body } = await this.#calls.open(call, Number.MAX_SAFE_INTEGER, signal);
    return { size: Number(headers["content-length"] ?? 0), chunks: body };
  }

  async probe(signal: AbortSignal): Promise<void> {
    const mark = hex(this.#needs.random.bytes(8));
    const key = `${this.#folder}${this.#settings.filePrefix}-probe-${mark}`;
    const bytes = Buffer.from("Written to see whether snapshots can be; may be deleted.\n");
    const body = { sha256: sha256Hex(bytes), open: () => bytes };
    const step = "writing a probe object";
    await this.#send({ step, method: "PUT", key, headers: this.#encryption, body }, signal);
    await this.list(signal);
    await this.#deleteKey(key, signal);
  }

  async settle({ name, size, sha256, handle }: BegunPut, signal: AbortSignal): Promise<boolean> {
    const key = this.#folder + name;
    if (handle !== null) await this.#abortUpload(key, handle, signal);
    try {
      await this.#abortUploads(key, signal);
    } catch (error) {
      // Whoever may not look for more has aborted the one that is known.
      if (handle === null || !(error instanceof StoreError) || error.passes) throw error;
    }
    const head = await this.#head(key, signal);
    if (head === null) return false;
    if (isSame(head, { size, sha256 })) return true;
    await this.#deleteKey(key, signal);
    return false;
  }

  /** Gives the sum that the store should show. */
  async #putAtOnce(key: string, source: Source, options: PutOptions): Promise<string> {
    const sum = createHash("sha256");
    await feed(source, 0, source.size, [sum]);
    const digest = sum.digest();
    checkWhole(source, digest);
    const checksum = base64(digest);
    await this.#send(
      {
        step: "writing the snapshot",
        method: "PUT",
        key,
        headers: { ...this.#about(source), "x-amz-checksum-sha256": checksum },
        body: partBody(source, { from: 0, to: source.size }, digest),
      },
      options.signal,
    );
    options.progress?.(source.size);
    return checksum;
  }

  async #putInParts(
    key: string,
    source: Source,
    places: readonly { readonly from: number; readonly to: number }[],
    { signal, note, progress }: PutOptions,
  ): Promise<string> {
    const uploadId = await this.#begin(key, source, signal);
    await note?.(uploadId);
    const whole = createHash("sha256");
    const parts: Part[] = [];
    for (const place of places) {
      const sum = createHash("sha256");
      await feed(source, place.from, place.to, [sum, whole]);
      const digest = sum.digest();
      const answer = await this.#send(
        {
          step: "writing a part of the snapshot",
          method: "PUT",
          key,
          query: { partNumber: String(parts.length + 1), uploadId },
          headers: { "x-amz-checksum-sha256": base64(digest) },
          body: partBody(source, place, digest),
        },
        signal,
      );
      parts.push({ etag: answer.headers["etag"] ?? "", sum: digest });
      progress?.(place.to);
    }
    checkWhole(source, whole.digest());
    await this.#complete(key, uploadId, parts, signal);
    const ofSums = createHash("sha256").update(concat(...parts.map(({ sum }) => sum)));
    return `${ofSums.digest("base64")}-${parts.length}`;
  }

  async #begin(key: string, source: Source, signal: AbortSignal): Promise<string> {
    const step = "beginning the upload of the snapshot";
    const headers = { ...this.#about(source), "x-amz-checksum-algorithm": "SHA256" };
    const begun = { step, method: "POST", key, query: { uploads: "" }, headers };
    const { text } = await this.#send(begun, signal);
    const uploadId = textOf(readXml(text), "UploadId");
    if (uploadId === "") throw notSpoken(step);
    return uploadId;
  }

  async #complete(
    key: string,
    uploadId: string,
    parts: readonly Part[],
    signal: AbortSignal,
  ): Promise<void> {
    const listed = parts.map(
      ({ etag, sum }, at) =>
        `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escaped(etag)}</ETag>` +
        `<ChecksumSHA256>${base64(sum)}</ChecksumSHA256></Part>`,
    );
    const space = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
    const xml = Buffer.from(
      `<CompleteMultipartUpload ${space}>${listed.join("")}</CompleteMultipartUpload>`,
    );
    const call = this.#call({
      step: "completing the upload of the snapshot",
      method: "POST",
      key,
      query: { uploadId },
      headers: { "content-type": "application/xml" },
      body: { sha256: sha256Hex(xml), open: () => xml },
    });
    try {
      // It begins to answer before it is done: an error may stand in an answer that says 200.
      const check = (answer: StoreAnswer) => {
        if (readXml(answer.text)?.name === "Error") throw this.#calls.errorIn(call, answer);
      };
      await this.#calls.send({ ...call, check }, signal);
    } catch (error) {
      // A try whose answer was lost may have completed it: what is there decides.
      if (!(error instanceof StoreError && error.code === "NoSuchUpload")) throw error;
    }
  }

  async #isWhole(
    key: string,
    source: Source,
    checksum: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const head = await this.#head(key, signal);
    if (head === null) return false;
    // Stores of others may know of no sums, or leave the count of parts away; each part was checked by its
    // signature all the same.
    const visible = head["x-amz-checksum-sha256"] ?? checksum;
    return (
      isSame(head, source) && (visible === checksum || visible === checksum.replace(/-\d+$/, ""))
    );
  }

  async #head(key: string, signal: AbortSignal): Promise<StoreAnswer["headers"] | null> {
    const headers = { "x-amz-checksum-mode": "ENABLED" };
    const wanted = { step: "looking at the snapshot", method: "HEAD", key, headers };
    const answer = await orGone(this.#send(wanted, signal));
    return answer?.headers ?? null;
  }

  async #deleteKey(key: string, signal: AbortSignal): Promise<void> {
    await orGone(this.#send({ step: "deleting an object", method: "DELETE", key }, signal));
  }

  async #abortUploads(key: string, signal: AbortSignal): Promise<void> {
    const step = "looking for uploads that did not end";
    const query = { uploads: "", prefix: key };
    const answer = await this.#send({ step, method: "GET", query }, signal);
    for (const upload of childrenOf(readXml(answer.text), "Upload")) {
      if (textOf(upload, "Key") !== key) continue;
      await this.#abortUpload(key, textOf(upload, "UploadId"), signal);
    }
  }

  async #abortUpload(key: string, uploadId: string, signal: AbortSignal): Promise<void> {
    const abort = { step: "aborting an upload", method: "DELETE", key, query: { uploadId } };
    await orGone(this.#send(abort, signal));
  }

  #about({ sha256 }: Source): Record<string, string> {
    return { "content-type": "application/gzip", [SHA256]: hex(sha256), ...this.#encryption };
  }

  get #encryption(): Record<string, string> {
    const { enableKms, kmsKey, serverSideEncryption } = this.#settings;
    const named = "x-amz-server-side-encryption";
    if (serverSideEncryption) return { [named]: "AES256" };
    if (!enableKms) return {};
    const key = kmsKey === "" ? {} : { [`${named}-aws-kms-key-id`]: kmsKey };
    return { [named]: "aws:kms", ...key };
  }

  #send(wanted: Wanted, signal: AbortSignal): Promise<StoreAnswer> {
    return this.#calls.send(this.#call(wanted), signal);
  }

  #call({ step, method, key = "", query = {}, headers = {}, body, expects }: Wanted) {
    const { region } = this.#settings;
    const url = this.#url.of(key, queryOf(query));
    return {
      step,
      ...(expects === undefined ? {} : { expects }),
      request: (): StoreRequest => ({
        method,
        url,
        headers: signed(
          { method, url, headers, sha256: body?.sha256 ?? NO_BODY },
          this.#keys,
          { region, service: "s3" },
          this.#needs.clock.now(),
        ),
        ...(body === undefined ? {} : { body: body.open() }),
      }),
    };
  }
}

function isSame(
  head: StoreAnswer["headers"],
  { size, sha256 }: Pick<Source, "size" | "sha256">,
): boolean {
  return Number(head["content-length"]) === size && head[SHA256] === hex(sha256);
}

function partBody(
  source: Source,
  { from, to }: { readonly from: number; readonly to: number },
  sum: Buffer,
): Body {
  return {
    sha256: hex(sum),
    open: () => ({ length: to - from, chunks: source.read(from, to) }),
  };
}

function saidBy({ status, headers, text }: StoreAnswer) {
  const error = readXml(text);
  const requestId = textOf(error, "RequestId") || (headers["x-amz-request-id"] ?? "");
  const message = textOf(error, "Message") || (status === 403 ? "it refuses these keys" : "");
  return { code: textOf(error, "Code"), message, requestId };
}

function notSpoken(step: string): StoreError {
  return storeRefuses(step, "the answer is not that of such a store");
}
