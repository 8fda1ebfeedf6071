// Snapshots in a container of cloudb-blob: blocks with a sum each, which become a blob when their list is
// committed, and a look at what is there before it counts as written.

import { createHash } from "node:crypto";
import { base64, hex, utf8 } from "@holdfast/shared/bytes";
import type { Surroundings } from "../targets/credential-files.ts";
import { orGone } from "../targets/gone.ts";
import { type CloudBSettings, objectFolder } from "../targets/settings.ts";
import { feed, md5Of, partsOf } from "../targets/source-sums.ts";
import {
  type StoreAnswer,
  StoreCalls,
  type StoreNeeds,
  type StoreRequest,
} from "../targets/store-calls.ts";
import { storeRefuses } from "../targets/store-error.ts";
import {
  type BegunPut,
  byAge,
  isOurName,
  type PutOptions,
  type Source,
} from "../targets/target.ts";
import type { PutSnapshot, StoredSnapshot, Target } from "../targets/target.ts";
import { childOf, childrenOf, readXml, textOf } from "../targets/xml.ts";
import { containerUrl } from "./container-url.ts";
import { accountKey } from "./credentials.ts";
import { type AccountKey, signed } from "./shared-key.ts";

const BLOCK = 16 * 1024 * 1024;
const MAX_BLOCKS = 50_000;
const MAX_PAGES = 100;
const SHA256 = "x-ms-meta-sha256";
const PASSING = ["ServerBusy", "InternalError", "OperationTimedOut"];

interface Wanted {
  readonly step: string;
  readonly method: string;
  /** Without one: the container. */
  readonly name?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly length?: number;
  readonly body?: () => NonNullable<StoreRequest["body"]>;
  readonly expects?: readonly number[];
}

export class CloudBBlob implements Target {
  readonly #settings: CloudBSettings;
  readonly #needs: StoreNeeds;
  readonly #key: AccountKey;
  readonly #container: string;
  readonly #folder: string;
  readonly #calls: StoreCalls;

  constructor(settings: CloudBSettings, needs: StoreNeeds, around: Surroundings) {
    this.#settings = settings;
    this.#needs = needs;
    this.#key = accountKey(settings, around);
    this.#container = containerUrl(settings, this.#key.account, needs.outbound);
    this.#folder = objectFolder(settings.pathPrefix);
    this.#calls = new StoreCalls(needs, {
      plain: this.#container.startsWith("http://"),
      identity: this.#key.account,
      secrets: () => [base64(this.#key.key)],
      saidBy,
      passing: PASSING,
    });
  }

  urlOf(name: string): string {
    return this.#urlOf(this.#folder + name, {}).href;
  }

  async checkRoom(): Promise<void> {}

  async put(name: string, source: Source, { signal, progress }: PutOptions): Promise<void> {
    const blob = this.#folder + name;
    const md5 = base64(await md5Of(source));
    const ids: string[] = [];
    for (const { from, to } of partsOf(source.size, this.#needs.partBytes ?? BLOCK, MAX_BLOCKS)) {
      const sum = createHash("md5");
      await feed(source, from, to, [sum]);
      const id = base64(utf8(String(ids.length).padStart(8, "0"))); // all of one length
      await this.#send(
        {
          step: "writing a block of the snapshot",
          method: "PUT",
          name: blob,
          query: { comp: "block", blockid: id },
          headers: { "content-md5": sum.digest("base64") },
          length: to - from,
          body: () => ({ length: to - from, chunks: source.read(from, to) }),
        },
        signal,
      );
      ids.push(id);
      progress?.(to);
    }
    await this.#commit(blob, ids, md5, source, signal);
    const head = await this.#head(blob, signal);
    if (head?.["content-md5"] !== md5 || !isWhole(head, source)) {
      throw storeRefuses("checking the snapshot", "what the store holds is not what was sent");
    }
  }

  async list(signal: AbortSignal): Promise<StoredSnapshot[]> {
    const { filePrefix } = this.#settings;
    const step = "listing snapshots";
    const found: StoredSnapshot[] = [];
    let marker = "";
    for (let page = 0; page < MAX_PAGES; page++) {
      const next = marker === "" ? {} : { marker };
      const prefix = `${this.#folder}${filePrefix}-`;
      const query = { restype: "container", comp: "list", maxresults: "1000", prefix, ...next };
      const { text } = await this.#send({ step, method: "GET", query }, signal);
      const listing = readXml(text);
      if (listing?.name !== "EnumerationResults") {
        throw storeRefuses(step, "the answer is not that of such a store");
      }
      for (const blob of childrenOf(childOf(listing, "Blobs"), "Blob")) {
        const full = textOf(blob, "Name");
        const name = full.startsWith(this.#folder) ? full.slice(this.#folder.length) : "";
        const size = Number(textOf(childOf(blob, "Properties"), "Content-Length"));
        // An empty one is a list that was committed to be rid of its blocks: see settle.
        if (isOurName(filePrefix, name) && size > 0) found.push({ name, size });
      }
      marker = textOf(listing, "NextMarker");
      if (marker === "") return found.sort(byAge);
    }
    throw storeRefuses(step, `there are more than ${MAX_PAGES} pages of them`);
  }

  async holds({ name, ...put }: PutSnapshot, signal: AbortSignal): Promise<boolean> {
    const head = await this.#head(this.#folder + name, signal);
    return head !== null && isWhole(head, put);
  }

  async delete(name: string, signal: AbortSignal): Promise<void> {
    await this.#deleteBlob(this.#folder + name, signal);
  }

  async read(name: string, signal: AbortSignal) {
    const step = "reading a snapshot";
    const call = this.#call({ step, method: "GET", name: this.#folder + name, expects: [200] });
    const { headers, body } = await this.#calls.open(call, Number.MAX_SAFE_INTEGER, signal);
    return { size: Number(headers["content-length"] ?? 0), chunks: body };
  }

  async probe(signal: AbortSignal): Promise<void> {
    const mark = hex(this.#needs.random.bytes(8));
    const name = `${this.#folder}${this.#settings.filePrefix}-probe-${mark}`;
    const bytes = utf8("Written to see whether snapshots can be; may be deleted.\n");
    await this.#send(
      {
        step: "writing a probe object",
        method: "PUT",
        name,
        headers: {
          "content-md5": createHash("md5").update(bytes).digest("base64"),
          "x-ms-blob-type": "BlockBlob",
        },
        length: bytes.length,
        body: () => bytes,
      },
      signal,
    );
    await this.list(signal);
    await this.#deleteBlob(name, signal);
  }

  /** Blocks without a list are dropped by the store after a week; committing an empty list drops them now. */
  async settle({ name, size, sha256 }: BegunPut, signal: AbortSignal): Promise<boolean> {
    const blob = this.#folder + name;
    const head = await this.#head(blob, signal);
    if (head !== null && isWhole(head, { size, sha256 })) return true;
    const step = "looking for blocks that were left";
    const query = { comp: "blocklist", blocklisttype: "uncommitted" };
    const left = await orGone(this.#send({ step, method: "GET", name: blob, query }, signal));
    const blocks = childOf(readXml(left?.text ?? ""), "UncommittedBlocks");
    if (head === null && (blocks?.children.length ?? 0) === 0) return false;
    if (head === null) await this.#commit(blob, [], "", { size: 0, sha256 }, signal);
    await this.#deleteBlob(blob, signal);
    return false;
  }

  async #commit(
    name: string,
    ids: readonly string[],
    md5: string,
    { sha256 }: Pick<Source, "size" | "sha256">,
    signal: AbortSignal,
  ): Promise<void> {
    // "Latest": when the answer to a commit was lost, its blocks are committed already.
    const listed = ids.map((id) => `<Latest>${id}</Latest>`).join("");
    const xml = utf8(`<?xml version="1.0" encoding="utf-8"?><BlockList>${listed}</BlockList>`);
    await this.#send(
      {
        step: "committing the snapshot",
        method: "PUT",
        name,
        query: { comp: "blocklist" },
        headers: {
          "content-type": "application/xml",
          "content-md5": createHash("md5").update(xml).digest("base64"),
          "x-ms-blob-content-type": "application/gzip",
          [SHA256]: hex(sha256),
          ...(md5 === "" ? {} : { "x-ms-blob-content-md5": md5 }),
        },
        length: xml.length,
        body: () => xml,
      },
      signal,
    );
  }

  async #head(name: string, signal: AbortSignal): Promise<StoreAnswer["headers"] | null> {
    const wanted = { step: "looking at the snapshot", method: "HEAD", name };
    return (await orGone(this.#send(wanted, signal)))?.headers ?? null;
  }

  async #deleteBlob(name: string, signal: AbortSignal): Promise<void> {
    await orGone(this.#send({ step: "deleting an object", method: "DELETE", name }, signal));
  }

  #send(wanted: Wanted, signal: AbortSignal): Promise<StoreAnswer> {
    return this.#calls.send(this.#call(wanted), signal);
  }

  #call({ step, method, name = "", query = {}, headers = {}, length = 0, body, expects }: Wanted) {
    const url = this.#urlOf(name, query);
    return {
      step,
      ...(expects === undefined ? {} : { expects }),
      request: (): StoreRequest => ({
        method,
        url,
        headers: signed({ method, url, headers, length }, this.#key, this.#needs.clock.now()),
        ...(body === undefined ? {} : { body: body() }),
      }),
    };
  }

  #urlOf(name: string, query: Readonly<Record<string, string>>): URL {
    const path = name === "" ? "" : `/${name.split("/").map(encodeURIComponent).join("/")}`;
    const url = new URL(this.#container + path);
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
    return url;
  }
}

function isWhole(
  head: StoreAnswer["headers"],
  { size, sha256 }: Pick<Source, "size" | "sha256">,
): boolean {
  return Number(head["content-length"]) === size && head[SHA256] === hex(sha256);
}

function saidBy({ status, headers, text }: StoreAnswer) {
  const error = readXml(text);
  const code = textOf(error, "Code") || (headers["x-ms-error-code"] ?? "");
  // The text goes on with the request id and the time, which are told apart.
  const [said = ""] = textOf(error, "Message").split("\n");
  const message = said || (status === 403 ? "it refuses this key" : "");
  return { code, message, requestId: headers["x-ms-request-id"] ?? "" };
}
