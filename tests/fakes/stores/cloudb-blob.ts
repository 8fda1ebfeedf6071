// A stand-in for a blob store, as strict as the provider about signatures, sums, blocks and pages.

import { createHash, createHmac, randomUUID } from "node:crypto";
import { type StoreAnswer, type StoreFront, type StoreRequest, startFront } from "./front.ts";

export interface FakeBlobOptions {
  readonly container?: string;
  readonly page?: number;
  /** Its clock, in ms. Default: the real one. */
  readonly now?: () => number;
}

export interface StoredBlob {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

export interface FakeBlob extends StoreFront {
  readonly account: string;
  readonly key: string;
  readonly container: string;
  readonly blobs: Map<string, StoredBlob>;
  /** Staged, by blob and id. */
  readonly blocks: Map<string, Map<string, Buffer>>;
  readonly denied: Set<string>;
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const SIGNED = [
  "content-encoding",
  "content-language",
  "content-length",
  "content-md5",
  "content-type",
  "date",
  "if-modified-since",
  "if-match",
  "if-none-match",
  "if-unmodified-since",
  "range",
];

export async function startFakeBlob({
  container = "backups",
  page = 1000,
  now = Date.now,
}: FakeBlobOptions = {}): Promise<FakeBlob> {
  const account = "holdfasttest";
  const key = Buffer.from(
    "a key of the account, of sixty-four bytes, as the provider makes",
  ).toString("base64");
  const blobs = new Map<string, StoredBlob>();
  const blocks = new Map<string, Map<string, Buffer>>();
  const committed = new Map<string, Map<string, Buffer>>();
  const denied = new Set<string>();
  const front = await startFront({
    actionOf,
    perform: (action, request) => {
      const id = randomUUID();
      try {
        authenticate(request);
        if (denied.has(action)) {
          const said = "This request is not authorized to perform this operation.";
          throw new Refusal(403, "AuthorizationFailure", said);
        }
        const answer = perform(action, request);
        return { ...answer, headers: { "x-ms-request-id": id, ...answer.headers } };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return refused(error, request.method, id);
      }
    },
  });

  function perform(action: string, { path, query, headers, body }: StoreRequest): StoreAnswer {
    const [, , named = "", ...rest] = path.split("/");
    const name = rest.map(decodeURIComponent).join("/");
    if (named !== container) {
      throw new Refusal(404, "ContainerNotFound", "The specified container does not exist.");
    }
    checkMd5(headers, body);
    const found = () => {
      const blob = blobs.get(name);
      if (blob === undefined) {
        throw new Refusal(404, "BlobNotFound", "The specified blob does not exist.");
      }
      return blob;
    };
    switch (action) {
      case "PutBlock": {
        const staged = blocks.get(name) ?? new Map<string, Buffer>();
        const id = query.get("blockid") ?? "";
        const other = [...staged.keys()][0];
        if (id === "" || (other !== undefined && other.length !== id.length)) {
          throw new Refusal(
            400,
            "InvalidBlobOrBlock",
            "The specified blob or block content is invalid.",
          );
        }
        staged.set(id, body);
        blocks.set(name, staged);
        return { status: 201, headers: { "content-md5": md5(body) } };
      }
      case "PutBlockList": {
        const ids = [...body.toString().matchAll(/<Latest>(.*?)<\/Latest>/g)];
        const staged = blocks.get(name) ?? new Map<string, Buffer>();
        const before = committed.get(name) ?? new Map<string, Buffer>();
        const parts = ids.map(([, id = ""]) => {
          const block = staged.get(id) ?? before.get(id);
          if (block === undefined) {
            throw new Refusal(400, "InvalidBlockList", "The specified block list is invalid.");
          }
          return block;
        });
        blocks.delete(name);
        committed.set(name, new Map(ids.map(([, id = ""], at) => [id, parts[at] ?? body])));
        const sum = headers["x-ms-blob-content-md5"];
        const bytes = Buffer.concat(parts);
        blobs.set(name, {
          bytes,
          headers: {
            ...metadataOf(headers),
            "content-type": String(headers["x-ms-blob-content-type"] ?? "application/octet-stream"),
            ...(sum === undefined ? {} : { "content-md5": String(sum) }),
          },
        });
        return { status: 201 };
      }
      case "PutBlob":
        if (headers["x-ms-blob-type"] !== "BlockBlob") {
          throw new Refusal(
            400,
            "MissingRequiredHeader",
            "An HTTP header that's mandatory is missing",
          );
        }
        blobs.set(name, { bytes: body, headers: metadataOf(headers) });
        return { status: 201 };
      case "GetBlockList": {
        const staged = blocks.get(name);
        if (staged === undefined) found();
        const listed = [...(staged ?? [])].map(
          ([id, { length }]) => `<Block><Name>${id}</Name><Size>${length}</Size></Block>`,
        );
        return xml(
          `<BlockList><UncommittedBlocks>${listed.join("")}</UncommittedBlocks></BlockList>`,
        );
      }
      case "ListBlobs":
        return xml(listing(query));
      case "GetBlobProperties":
      case "GetBlob": {
        const { bytes, headers: kept } = found();
        const length = String(bytes.length);
        return { status: 200, headers: { ...kept, "content-length": length }, body: bytes };
      }
      case "DeleteBlob":
        found();
        blobs.delete(name);
        committed.delete(name);
        return { status: 202 };
      default:
        throw new Refusal(405, "UnsupportedHttpVerb", "The resource doesn't support this verb.");
    }
  }

  function listing(query: URLSearchParams): string {
    const prefix = query.get("prefix") ?? "";
    const marker = query.get("marker") ?? "";
    const size = Math.min(page, Number(query.get("maxresults") ?? 5000));
    const names = [...blobs.keys()]
      .filter((name) => name.startsWith(prefix) && name > marker)
      .sort();
    const visible = names.slice(0, size);
    const next = names.length > size ? (visible.at(-1) ?? "") : "";
    const entries = visible.map((name) => {
      const length = blobs.get(name)?.bytes.length ?? 0;
      const properties = `<Properties><Content-Length>${length}</Content-Length></Properties>`;
      return `<Blob><Name>${escaped(name)}</Name>${properties}</Blob>`;
    });
    return (
      `<EnumerationResults ServiceEndpoint="http://x/" ContainerName="${container}">` +
      `<Prefix>${escaped(prefix)}</Prefix><Blobs>${entries.join("")}</Blobs>` +
      `<NextMarker>${escaped(next)}</NextMarker></EnumerationResults>`
    );
  }

  function authenticate({ method, path, query, headers, body }: StoreRequest): void {
    const failed = (why: string) =>
      new Refusal(403, "AuthenticationFailed", `Server failed to authenticate the request. ${why}`);
    if (headers["x-ms-version"] === undefined) throw failed("x-ms-version is missing.");
    const at = Date.parse(String(headers["x-ms-date"] ?? ""));
    if (!(Math.abs(now() - at) < 900_000)) throw failed("Request date header is too old.");
    const [scheme = "", credential = ""] = (headers.authorization ?? "").split(" ");
    const [named = "", signature = ""] = credential.split(":");
    if (scheme !== "SharedKey" || named !== account) throw failed("The account is another.");
    const standard = SIGNED.map((name) => {
      if (name === "content-length") return body.length === 0 ? "" : String(body.length);
      return String(headers[name] ?? "");
    });
    const own = Object.keys(headers)
      .filter((name) => name.startsWith("x-ms-"))
      .sort()
      .map((name) => `${name}:${String(headers[name]).trim()}\n`)
      .join("");
    const queried = [...query]
      .map(([name, value]) => `\n${name.toLowerCase()}:${value}`)
      .sort()
      .join("");
    const toSign = `${method}\n${standard.join("\n")}\n${own}/${account}${path}${queried}`;
    const wanted = createHmac("sha256", Buffer.from(key, "base64")).update(toSign, "utf8");
    if (wanted.digest("base64") !== signature) {
      throw failed(`The MAC signature is not the same. Server used: '${toSign}' and ${key}`);
    }
  }

  return Object.assign(front, { account, key, container, blobs, blocks, denied });
}

function actionOf({ method, query, path }: StoreRequest): string {
  const comp = query.get("comp");
  if (path.split("/").length <= 3) return comp === "list" ? "ListBlobs" : "Unknown";
  if (method === "PUT") {
    return comp === "block" ? "PutBlock" : comp === "blocklist" ? "PutBlockList" : "PutBlob";
  }
  if (method === "GET") return comp === "blocklist" ? "GetBlockList" : "GetBlob";
  return method === "HEAD" ? "GetBlobProperties" : method === "DELETE" ? "DeleteBlob" : "Unknown";
}

function checkMd5(headers: StoreRequest["headers"], body: Buffer): void {
  const said = headers["content-md5"];
  if (said === undefined || said === md5(body)) return;
  const message =
    "The MD5 value specified in the request did not match with the MD5 value calculated.";
  throw new Refusal(400, "Md5Mismatch", message);
}

function metadataOf(headers: StoreRequest["headers"]): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => name.startsWith("x-ms-meta-"));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

function xml(body: string): StoreAnswer {
  // The provider begins with the mark of its encoding.
  const text = `\ufeff<?xml version="1.0" encoding="utf-8"?>${body}`;
  return { status: 200, headers: { "content-type": "application/xml" }, body: text };
}

function refused({ status, code, message }: Refusal, method: string, id: string): StoreAnswer {
  const headers = { "x-ms-error-code": code, "x-ms-request-id": id };
  if (method === "HEAD") return { status, headers };
  const said = `${message}\nRequestId:${id}\nTime:2026-01-01T00:00:00Z`;
  const body = `\ufeff<?xml version="1.0" encoding="utf-8"?><Error><Code>${code}</Code><Message>${escaped(said)}</Message></Error>`;
  return { status, headers: { ...headers, "content-type": "application/xml" }, body };
}

export function blobError(status: number, code: string, message: string): StoreAnswer {
  return refused(new Refusal(status, code, message), "GET", "fault");
}

function md5(bytes: Buffer): string {
  return createHash("md5").update(bytes).digest("base64");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
