// A stand-in for an S3 store, as strict as the provider about signatures, sums, parts and pages.

import { createHash, createHmac, randomUUID } from "node:crypto";
import { type StoreAnswer, type StoreFront, type StoreRequest, startFront } from "./front.ts";

export interface FakeS3Options {
  readonly bucket?: string;
  readonly region?: string;
  /** Entries of one page of a listing, at most. */
  readonly page?: number;
  /** Its clock, in ms. Default: the real one. */
  readonly now?: () => number;
  /** Whether sums are kept and visible, as stores of others do not. Default true. */
  readonly checksums?: boolean;
}

export interface StoredObject {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

interface Upload {
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly parts: Map<number, { readonly bytes: Buffer; readonly sum: string }>;
}

export interface FakeS3 extends StoreFront {
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly objects: Map<string, StoredObject>;
  readonly uploads: Map<string, Upload>;
  readonly control: S3Control;
}

export interface S3Control {
  /** With a token: the keys work only with it. */
  session: { readonly token: string; readonly expired: boolean } | null;
  /** Added to the fake's clock. */
  skewMs: number;
  /** Actions that the keys may not do. */
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

const MIN_PART = 5 * 1024 * 1024;

export async function startFakeS3({
  bucket = "backups",
  region = "eu-central-1",
  page = 1000,
  now = Date.now,
  checksums = true,
}: FakeS3Options = {}): Promise<FakeS3> {
  const objects = new Map<string, StoredObject>();
  const uploads = new Map<string, Upload>();
  const keys = {
    accessKeyId: "AKIAEXAMPLEEXAMPLE12",
    secretAccessKey: "wJalr/XUtnFEMI+K7MDENGbPxRfiCY",
  };
  const control: S3Control = { session: null, skewMs: 0, denied: new Set() };

  const front = await startFront({
    actionOf: (request) => actionOf(request, bucket),
    perform: (action, request) => {
      const requestId = randomUUID();
      try {
        authenticate(request);
        if (control.denied.has(action)) throw new Refusal(403, "AccessDenied", "Access Denied");
        return perform(action, request, requestId);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return refused(error, request.method, requestId);
      }
    },
  });

  function perform(action: string, request: StoreRequest, requestId: string): StoreAnswer {
    const key = keyOf(request, bucket);
    const { query, headers, body } = request;
    const common = { "x-amz-request-id": requestId };
    if (!bucketIs(request, bucket)) {
      throw new Refusal(404, "NoSuchBucket", "The specified bucket does not exist");
    }
    switch (action) {
      case "PutObject":
        checkBody(request);
        checkEncryption(headers);
        objects.set(key, { bytes: body, headers: headersOf(headers, sumOf(request)) });
        return { status: 200, headers: { ...common, etag: etagOf(body) } };
      case "CreateMultipartUpload": {
        checkEncryption(headers);
        const uploadId = `upload.${randomUUID()}`;
        uploads.set(uploadId, { key, headers: headersOf(headers, null), parts: new Map() });
        return xml("InitiateMultipartUploadResult", `<UploadId>${uploadId}</UploadId>`, common);
      }
      case "UploadPart": {
        const upload = uploadOf(query.get("uploadId") ?? "", key);
        checkBody(request);
        const number = Number(query.get("partNumber"));
        if (!(number >= 1 && number <= 10_000)) {
          throw new Refusal(400, "InvalidArgument", "Part number must be between 1 and 10000");
        }
        const sum = sumOf(request) ?? "";
        upload.parts.set(number, { bytes: body, sum });
        return { status: 200, headers: { ...common, etag: etagOf(body) } };
      }
      case "CompleteMultipartUpload": {
        const uploadId = query.get("uploadId") ?? "";
        const upload = uploadOf(uploadId, key);
        const whole = completed(upload, body.toString());
        uploads.delete(uploadId);
        objects.set(key, whole);
        return xml("CompleteMultipartUploadResult", `<Key>${key}</Key>`, common);
      }
      case "AbortMultipartUpload": {
        uploadOf(query.get("uploadId") ?? "", key);
        uploads.delete(query.get("uploadId") ?? "");
        return { status: 204, headers: common };
      }
      case "ListMultipartUploads": {
        const prefix = query.get("prefix") ?? "";
        const found = [...uploads].filter(([, upload]) => upload.key.startsWith(prefix));
        const listed = found.map(
          ([id, upload]) =>
            `<Upload><Key>${escaped(upload.key)}</Key><UploadId>${id}</UploadId></Upload>`,
        );
        const rest = "<IsTruncated>false</IsTruncated>";
        return xml("ListMultipartUploadsResult", listed.join("") + rest, common);
      }
      case "ListObjectsV2":
        return xml("ListBucketResult", listing(query), common);
      case "HeadObject":
      case "GetObject": {
        const found = objects.get(key);
        if (found === undefined) {
          throw new Refusal(404, "NoSuchKey", "The specified key does not exist.");
        }
        const { "x-amz-checksum-sha256": sum, ...rest } = found.headers;
        const wanted = headers["x-amz-checksum-mode"] === "ENABLED" && checksums;
        const visible = wanted && sum !== undefined ? { "x-amz-checksum-sha256": sum } : {};
        return {
          status: 200,
          headers: { ...common, ...rest, ...visible, "content-length": String(found.bytes.length) },
          body: found.bytes,
        };
      }
      case "DeleteObject":
        objects.delete(key);
        return { status: 204, headers: common };
      default:
        throw new Refusal(405, "MethodNotAllowed", "The specified method is not allowed");
    }
  }

  function uploadOf(id: string, key: string): Upload {
    const found = uploads.get(id);
    if (found?.key === key) return found;
    throw new Refusal(404, "NoSuchUpload", "The specified upload does not exist.");
  }

  function completed(upload: Upload, text: string): StoredObject {
    const listed = [...text.matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, inside = ""]) => ({
      number: Number(/<PartNumber>(\d+)</.exec(inside)?.[1]),
      etag: (/<ETag>(.*?)</.exec(inside)?.[1] ?? "").replaceAll("&quot;", '"'),
      sum: /<ChecksumSHA256>(.*?)</.exec(inside)?.[1] ?? "",
    }));
    if (listed.length === 0) throw new Refusal(400, "MalformedXML", "The XML is not well-formed");
    listed.forEach(({ number, etag, sum }, at) => {
      const part = upload.parts.get(number);
      if (part === undefined || etagOf(part.bytes) !== etag) {
        throw new Refusal(400, "InvalidPart", "One or more of the parts could not be found.");
      }
      if (number <= (listed[at - 1]?.number ?? 0)) {
        throw new Refusal(400, "InvalidPartOrder", "The list of parts was not in order.");
      }
      if (upload.headers["x-amz-checksum-algorithm"] === "SHA256" && part.sum !== sum) {
        throw new Refusal(400, "InvalidPart", "The checksum of a part does not match.");
      }
      if (at < listed.length - 1 && part.bytes.length < MIN_PART) {
        throw new Refusal(400, "EntityTooSmall", "Your proposed upload is too small");
      }
    });
    const parts = listed.map(({ number }) => upload.parts.get(number)?.bytes ?? Buffer.alloc(0));
    const sums = Buffer.concat(parts.map((part) => createHash("sha256").update(part).digest()));
    const composite = createHash("sha256").update(sums).digest("base64");
    const sum = `${composite}-${parts.length}`;
    return {
      bytes: Buffer.concat(parts),
      headers: { ...upload.headers, "x-amz-checksum-sha256": sum },
    };
  }

  function listing(query: URLSearchParams): string {
    if (query.get("list-type") !== "2") throw new Refusal(400, "InvalidArgument", "list-type");
    const prefix = query.get("prefix") ?? "";
    const after = Buffer.from(query.get("continuation-token") ?? "", "base64").toString();
    const size = Math.min(page, Number(query.get("max-keys") ?? 1000));
    const names = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    const visible = names.slice(0, size);
    const more = names.length > size;
    const entries = visible.map((key) => {
      const { bytes } = objects.get(key) ?? { bytes: Buffer.alloc(0) };
      return `<Contents><Key>${escaped(key)}</Key><Size>${bytes.length}</Size></Contents>`;
    });
    const token = Buffer.from(visible.at(-1) ?? "").toString("base64");
    const rest = more ? `<NextContinuationToken>${token}</NextContinuationToken>` : "";
    return `<Name>${bucket}</Name><IsTruncated>${more}</IsTruncated>${entries.join("")}${rest}`;
  }

  function authenticate(request: StoreRequest): void {
    const { headers } = request;
    const form =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/;
    const match = form.exec(headers.authorization ?? "");
    if (match === null) throw new Refusal(403, "AccessDenied", "Access Denied");
    const [, id, day = "", signedRegion = "", names = "", signature = ""] = match;
    if (id !== keys.accessKeyId) {
      const said = "The AWS Access Key Id you provided does not exist in our records.";
      throw new Refusal(403, "InvalidAccessKeyId", said);
    }
    if (signedRegion !== region) {
      const said = `The authorization header is malformed; the region '${signedRegion}' is wrong; expecting '${region}'`;
      throw new Refusal(400, "AuthorizationHeaderMalformed", said);
    }
    const token = headers["x-amz-security-token"];
    if (control.session?.expired === true) {
      throw new Refusal(400, "ExpiredToken", "The provided token has expired.");
    }
    if ((control.session?.token ?? undefined) !== token) {
      throw new Refusal(
        400,
        "InvalidToken",
        "The provided token is malformed or otherwise invalid.",
      );
    }
    const stamp = String(headers["x-amz-date"] ?? "");
    const at = Date.parse(
      stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"),
    );
    if (!stamp.startsWith(day) || !(Math.abs(now() + control.skewMs - at) < 900_000)) {
      const said = "The difference between the request time and the current time is too large.";
      throw new Refusal(403, "RequestTimeTooSkewed", said);
    }
    const listed = names.split(";");
    const must = Object.keys(headers).filter((name) => /^(host|content-type|x-amz-.*)$/.test(name));
    if (must.some((name) => !listed.includes(name))) {
      const said = "There were headers present in the request which were not signed";
      throw new Refusal(403, "AccessDenied", said);
    }
    const content = String(headers["x-amz-content-sha256"] ?? "");
    const canonical = [
      request.method,
      request.path,
      request.rawQuery.split("&").sort().join("&"),
      ...listed.map((name) => `${name}:${String(headers[name] ?? "").trim()}`),
      "",
      names,
      content,
    ].join("\n");
    const scope = `${day}/${region}/s3/aws4_request`;
    const toSign = ["AWS4-HMAC-SHA256", stamp, scope, sha256(canonical)].join("\n");
    let key: Buffer = Buffer.from(`AWS4${keys.secretAccessKey}`);
    for (const part of [day, region, "s3", "aws4_request"]) {
      key = createHmac("sha256", key).update(part).digest();
    }
    if (createHmac("sha256", key).update(toSign).digest("hex") !== signature) {
      const said = `The request signature we calculated does not match the signature you provided. ${canonical}`;
      throw new Refusal(403, "SignatureDoesNotMatch", said);
    }
    if (content !== sha256(request.body)) {
      const said = "The provided 'x-amz-content-sha256' header does not match what was computed.";
      throw new Refusal(400, "XAmzContentSHA256Mismatch", said);
    }
  }

  return Object.assign(front, { bucket, region, ...keys, objects, uploads, control });
}

function actionOf(request: StoreRequest, bucket: string): string {
  const { method, query } = request;
  const key = keyOf(request, bucket);
  if (key === "") {
    if (method !== "GET") return "Unknown";
    return query.has("uploads") ? "ListMultipartUploads" : "ListObjectsV2";
  }
  if (method === "POST")
    return query.has("uploads") ? "CreateMultipartUpload" : "CompleteMultipartUpload";
  if (method === "PUT") return query.has("partNumber") ? "UploadPart" : "PutObject";
  if (method === "DELETE") return query.has("uploadId") ? "AbortMultipartUpload" : "DeleteObject";
  return method === "HEAD" ? "HeadObject" : "GetObject";
}

function isOwnHost({ headers }: StoreRequest): boolean {
  return !/^(127\.0\.0\.1|localhost|store\.example)(:|$)/.test(headers.host ?? "");
}

function bucketIs(request: StoreRequest, bucket: string): boolean {
  if (isOwnHost(request)) return (request.headers.host ?? "").startsWith(`${bucket}.`);
  return request.path.split("/")[1] === bucket;
}

function keyOf(request: StoreRequest, _bucket: string): string {
  const path = isOwnHost(request) ? request.path : request.path.replace(/^\/[^/]*/, "");
  return decodeURIComponent(path.replace(/^\//, ""));
}

function checkBody(request: StoreRequest): void {
  const sum = request.headers["x-amz-checksum-sha256"];
  if (sum === undefined) return;
  if (sum !== createHash("sha256").update(request.body).digest("base64")) {
    throw new Refusal(400, "BadDigest", "The SHA256 you specified did not match what we received.");
  }
}

function sumOf({ headers }: StoreRequest): string | null {
  return (headers["x-amz-checksum-sha256"] as string | undefined) ?? null;
}

function checkEncryption(headers: StoreRequest["headers"]): void {
  const kind = headers["x-amz-server-side-encryption"];
  const key = headers["x-amz-server-side-encryption-aws-kms-key-id"];
  if (kind !== undefined && kind !== "AES256" && kind !== "aws:kms") {
    throw new Refusal(400, "InvalidArgument", "The encryption method specified is not supported");
  }
  if (key !== undefined && kind !== "aws:kms") {
    throw new Refusal(400, "InvalidArgument", "A KMS key was given without aws:kms");
  }
}

function headersOf(headers: StoreRequest["headers"], sum: string | null): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) =>
    /^(content-type|x-amz-(meta-.*|server-side-encryption.*|checksum-algorithm))$/.test(name),
  );
  const visible = Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
  return sum === null ? visible : { ...visible, "x-amz-checksum-sha256": sum };
}

function xml(root: string, inside: string, headers: Record<string, string>): StoreAnswer {
  const space = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<${root} ${space}>${inside}</${root}>`;
  return { status: 200, headers: { ...headers, "content-type": "application/xml" }, body };
}

function refused({ status, code, message }: Refusal, method: string, id: string): StoreAnswer {
  const headers = { "content-type": "application/xml", "x-amz-request-id": id };
  if (method === "HEAD") return { status, headers };
  const inside = `<Code>${code}</Code><Message>${escaped(message)}</Message><RequestId>${id}</RequestId>`;
  return {
    status,
    headers,
    body: `<?xml version="1.0" encoding="UTF-8"?>\n<Error>${inside}</Error>`,
  };
}

/** As the store answers with an error, for faults. */
export function s3Error(status: number, code: string, message: string): StoreAnswer {
  return refused(new Refusal(status, code, message), "GET", "fault");
}

function etagOf(bytes: Buffer): string {
  return `"${createHash("md5").update(bytes).digest("hex")}"`;
}

function sha256(body: string | Buffer): string {
  return createHash("sha256").update(body).digest("hex");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
