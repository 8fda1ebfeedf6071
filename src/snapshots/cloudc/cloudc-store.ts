// Snapshots in a bucket of cloudc-store: resumable uploads, whose sum the store checks before the object is
// there, and a look at what is there before it counts as written.

import { base64, hex, utf8 } from "@holdfast/shared/bytes";
import type { JsonValue } from "@holdfast/shared/json/json";
import { endpointContradicts } from "../targets/failures.ts";
import type { Surroundings } from "../targets/credential-files.ts";
import { orGone } from "../targets/gone.ts";
import { listAt, numberAt, readAnswer, textAt } from "../targets/json-answer.ts";
import { type CloudCSettings, objectFolder } from "../targets/settings.ts";
import { md5Of } from "../targets/source-sums.ts";
import {
  type StoreAnswer,
  type StoreCall,
  StoreCalls,
  type StoreNeeds,
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
import { AccessToken } from "./access-token.ts";
import { identityOf } from "./credentials.ts";

const CHUNK = 16 * 1024 * 1024; // a multiple of 256 KiB, as the store wants
const MAX_PAGES = 100;
const MAX_STANDSTILL = 5; // tries in a row of which nothing arrived
const SENDING = "writing a part of the snapshot";
const CANCELLED = 499; // how the store says that an upload was given up as asked
const UPSTREAM = "https://storage.googleapis.com";

interface Wanted {
  readonly step: string;
  readonly method: string;
  /** Path and query below the endpoint. */
  readonly at: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: StoreCallBody;
  readonly expects?: readonly number[];
  readonly tries?: number;
}

type StoreCallBody = () => NonNullable<Awaited<ReturnType<StoreCall["request"]>>["body"]>;

export class CloudCStore implements Target {
  readonly #settings: CloudCSettings;
  readonly #needs: StoreNeeds;
  readonly #base: string; // without a slash at the end
  readonly #folder: string;
  readonly #token: AccessToken;
  readonly #calls: StoreCalls;

  constructor(settings: CloudCSettings, needs: StoreNeeds, around: Surroundings) {
    const { disableTls: plain } = settings;
    this.#settings = settings;
    this.#needs = needs;
    this.#base = baseOf(settings, needs.outbound);
    this.#folder = objectFolder(settings.pathPrefix);
    const identity = identityOf(settings, around);
    this.#token = new AccessToken(identity, needs, { plain });
    this.#calls = new StoreCalls(needs, {
      plain,
      identity: identity.kind === "service_account" ? identity.email : identity.clientId,
      secrets: () => this.#token.secrets,
      saidBy,
      passing: ["rateLimitExceeded", "userRateLimitExceeded", "backendError"],
    });
  }

  urlOf(name: string): string {
    const path = (this.#folder + name).split("/").map(encodeURIComponent).join("/");
    return `${this.#base}/${this.#settings.bucket}/${path}`;
  }

  async checkRoom(): Promise<void> {}

  async put(name: string, source: Source, options: PutOptions): Promise<void> {
    const key = this.#folder + name;
    const md5 = base64(await md5Of(source));
    const session = await this.#begin(key, source, md5, options.signal);
    await options.note?.(session);
    await this.#upload(session, source, options);
    const found = await this.#about(key, options.signal);
    if (textAt(found, "md5Hash") !== md5 || !isWhole(found, source)) {
      throw storeRefuses("checking the snapshot", "what the store holds is not what was sent");
    }
  }

  async list(signal: AbortSignal): Promise<StoredSnapshot[]> {
    const { filePrefix } = this.#settings;
    const step = "listing snapshots";
    const found: StoredSnapshot[] = [];
    let pageToken = "";
    for (let page = 0; page < MAX_PAGES; page++) {
      const query = new URLSearchParams({
        prefix: `${this.#folder}${filePrefix}-`,
        maxResults: "1000",
        fields: "items(name,size),nextPageToken",
        ...(pageToken === "" ? {} : { pageToken }),
      });
      const at = `/storage/v1/b/${this.#bucket}/o?${query.toString()}`;
      const { text } = await this.#send({ step, method: "GET", at }, signal);
      const listing = readAnswer(text);
      if (listing === null) throw storeRefuses(step, "the answer is not that of such a store");
      for (const item of listAt(listing, "items")) {
        const full = textAt(item, "name");
        const name = full.startsWith(this.#folder) ? full.slice(this.#folder.length) : "";
        if (isOurName(filePrefix, name)) found.push({ name, size: numberAt(item, "size") ?? 0 });
      }
      pageToken = textAt(listing, "nextPageToken");
      if (pageToken === "") return found.sort(byAge);
    }
    throw storeRefuses(step, `there are more than ${MAX_PAGES} pages of them`);
  }

  async holds({ name, ...put }: PutSnapshot, signal: AbortSignal): Promise<boolean> {
    const found = await this.#about(this.#folder + name, signal);
    return found !== null && isWhole(found, put);
  }

  async delete(name: string, signal: AbortSignal): Promise<void> {
    await this.#deleteKey(this.#folder + name, signal);
  }

  async read(name: string, signal: AbortSignal) {
    const call = this.#call(
      {
        step: "reading a snapshot",
        method: "GET",
        at: `${this.#objectPath(this.#folder + name)}?alt=media`,
        expects: [200],
      },
      signal,
    );
    const { headers, body } = await this.#calls.open(call, Number.MAX_SAFE_INTEGER, signal);
    return { size: Number(headers["content-length"] ?? 0), chunks: body };
  }

  async probe(signal: AbortSignal): Promise<void> {
    const mark = hex(this.#needs.random.bytes(8));
    const key = `${this.#folder}${this.#settings.filePrefix}-probe-${mark}`;
    const bytes = utf8("Written to see whether snapshots can be; may be deleted.\n");
    const query = new URLSearchParams({ uploadType: "media", name: key });
    await this.#send(
      {
        step: "writing a probe object",
        method: "POST",
        at: `/upload/storage/v1/b/${this.#bucket}/o?${query.toString()}`,
        headers: { "content-type": "text/plain" },
        body: () => bytes,
      },
      signal,
    );
    await this.list(signal);
    await this.#deleteKey(key, signal);
  }

  async settle({ name, handle, ...put }: BegunPut, signal: AbortSignal): Promise<boolean> {
    const key = this.#folder + name;
    if (handle !== null) {
      const step = "giving up an upload";
      const expects = [200, 204, 400, 404, 410, CANCELLED]; // all of them: it is no more
      await this.#send({ step, method: "DELETE", at: handle, expects }, signal);
    }
    const found = await this.#about(key, signal);
    if (found === null) return false;
    if (isWhole(found, put)) return true;
    await this.#deleteKey(key, signal);
    return false;
  }

  /** Where the upload goes on: path and query of the session that the store has opened. */
  async #begin(key: string, source: Source, md5: string, signal: AbortSignal): Promise<string> {
    const step = "beginning the upload of the snapshot";
    const query = new URLSearchParams({ uploadType: "resumable", name: key });
    const about = {
      name: key,
      contentType: "application/gzip",
      md5Hash: md5,
      metadata: { sha256: hex(source.sha256) },
    };
    const answer = await this.#send(
      {
        step,
        method: "POST",
        at: `/upload/storage/v1/b/${this.#bucket}/o?${query.toString()}`,
        headers: {
          "content-type": "application/json; charset=UTF-8",
          "x-upload-content-type": "application/gzip",
          "x-upload-content-length": String(source.size),
        },
        body: () => JSON.stringify(about),
      },
      signal,
    );
    // Of the address it gives only what comes behind the host is believed.
    const session = URL.parse(answer.headers["location"] ?? "", this.#base);
    if (session === null) throw storeRefuses(step, "the answer does not say where to go on");
    return session.pathname + session.search;
  }

  async #upload(session: string, source: Source, { signal, progress }: PutOptions): Promise<void> {
    const { size } = source;
    let from = 0;
    let standing = 0;
    while (from < size) {
      const to = Math.min(from + (this.#needs.partBytes ?? CHUNK), size);
      let arrived: number;
      try {
        arrived = await this.#sendChunk(session, source, from, to, signal);
      } catch (error) {
        if (!(error instanceof StoreError && error.passes) || standing >= MAX_STANDSTILL) {
          throw error;
        }
        if (!(await this.#calls.waitAfter(error, standing + 1, signal))) throw error;
        arrived = await this.#arrived(session, size, signal); // some of it may have
      }
      standing = arrived > from ? 0 : standing + 1;
      if (standing > MAX_STANDSTILL) throw storeRefuses(SENDING, "the store takes nothing more");
      from = arrived;
      progress?.(from);
    }
  }

  async #sendChunk(
    session: string,
    source: Source,
    from: number,
    to: number,
    signal: AbortSignal,
  ): Promise<number> {
    const { size } = source;
    const answer = await this.#send(
      {
        step: SENDING,
        method: "PUT",
        at: session,
        headers: { "content-range": `bytes ${from}-${to - 1}/${size}` },
        body: () => ({ length: to - from, chunks: source.read(from, to) }),
        expects: [200, 201, 308],
        tries: 1,
      },
      signal,
    );
    return arrivedBy(answer, size);
  }

  async #arrived(session: string, size: number, signal: AbortSignal): Promise<number> {
    const answer = await this.#send(
      {
        step: "asking how much has arrived",
        method: "PUT",
        at: session,
        headers: { "content-range": `bytes */${size}` },
        expects: [200, 201, 308],
      },
      signal,
    );
    return arrivedBy(answer, size);
  }

  async #about(key: string, signal: AbortSignal): Promise<JsonValue> {
    const step = "looking at the snapshot";
    const at = this.#objectPath(key);
    const answer = await orGone(this.#send({ step, method: "GET", at }, signal));
    return answer === null ? null : readAnswer(answer.text);
  }

  async #deleteKey(key: string, signal: AbortSignal): Promise<void> {
    const step = "deleting an object";
    await orGone(this.#send({ step, method: "DELETE", at: this.#objectPath(key) }, signal));
  }

  get #bucket(): string {
    return encodeURIComponent(this.#settings.bucket);
  }

  #objectPath(key: string): string {
    return `/storage/v1/b/${this.#bucket}/o/${encodeURIComponent(key)}`;
  }

  #send(wanted: Wanted, signal: AbortSignal): Promise<StoreAnswer> {
    return this.#calls.send(this.#call(wanted, signal), signal);
  }

  #call({ step, method, at, headers = {}, body, expects, tries }: Wanted, signal: AbortSignal) {
    return {
      step,
      ...(expects === undefined ? {} : { expects }),
      ...(tries === undefined ? {} : { tries }),
      request: async () => ({
        method,
        url: new URL(this.#base + at),
        headers: { ...headers, authorization: `Bearer ${await this.#token.get(signal)}` },
        ...(body === undefined ? {} : { body: body() }),
      }),
    };
  }
}

/** Where the store is called, without a slash at the end. Throws a Failure that names the field. */
export function baseOf(
  { endpoint, disableTls }: CloudCSettings,
  outbound: Pick<StoreNeeds["outbound"], "endpoint">,
): string {
  if (endpoint === "") return disableTls ? UPSTREAM.replace("https:", "http:") : UPSTREAM;
  const scheme = disableTls ? "http" : "https";
  const text = /^[a-z]+:\/\//i.test(endpoint) ? endpoint : `${scheme}://${endpoint}`;
  const url = outbound.endpoint("cloudc_endpoint", text, { plain: disableTls });
  if (url.protocol !== `${scheme}:`) {
    throw endpointContradicts("cloudc_endpoint", "cloudc_disable_tls");
  }
  return url.href.replace(/\/+$/, "");
}

/** How many bytes the store has: all of them when it answers with the object. */
function arrivedBy({ status, headers }: StoreAnswer, size: number): number {
  if (status !== 308) return size;
  const last = /^bytes=0-(\d{1,15})$/.exec(headers["range"] ?? "")?.[1];
  return last === undefined ? 0 : Math.min(Number(last) + 1, size);
}

function isWhole(found: JsonValue, { size, sha256 }: Pick<Source, "size" | "sha256">): boolean {
  return numberAt(found, "size") === size && textAt(found, "metadata", "sha256") === hex(sha256);
}

function saidBy({ headers, text }: StoreAnswer) {
  const found = readAnswer(text);
  const [first = null] = listAt(found?.["error"], "errors");
  const code = textAt(first, "reason");
  // Uploads answer in plain text where they refuse.
  const message = textAt(found, "error", "message") || (found === null ? text.slice(0, 200) : "");
  return { code, message, requestId: headers["x-guploader-uploadid"] ?? "" };
}
