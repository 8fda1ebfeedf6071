// A stand-in for a store of the third cloud and its token endpoint, as strict as the provider about statements,
// tokens, resumable uploads, sums and pages.

import { createHash, createPublicKey, generateKeyPairSync, randomUUID, verify } from "node:crypto";
import { type StoreAnswer, type StoreFront, type StoreRequest, startFront } from "./front.ts";

export interface FakeGcsOptions {
  readonly bucket?: string;
  readonly page?: number;
  /** Its clock, in ms. Default: the real one. */
  readonly now?: () => number;
}

export interface StoredItem {
  readonly bytes: Buffer;
  readonly metadata: Readonly<Record<string, string>>;
  readonly contentType: string;
}

interface Session {
  readonly name: string;
  readonly about: { md5Hash?: string; metadata?: Record<string, string>; contentType?: string };
  readonly size: number;
  bytes: Buffer;
  /** The object is there: it is only wanted about. */
  done: boolean;
}

export interface FakeGcs extends StoreFront {
  readonly bucket: string;
  /** The JSON of the service account. */
  readonly serviceAccountKey: string;
  /** The JSON of a user's file. */
  readonly userFile: string;
  readonly objects: Map<string, StoredItem>;
  readonly sessions: Map<string, Session>;
  readonly tokens: Set<string>;
  readonly denied: Set<string>;
}

class Refusal extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

const QUARTER = 256 * 1024;
const SCOPES = ["https://www.googleapis.com/auth/devstorage.read_write"];

export async function startFakeGcs({
  bucket = "backups",
  page = 1000,
  now = Date.now,
}: FakeGcsOptions = {}): Promise<FakeGcs> {
  const objects = new Map<string, StoredItem>();
  const sessions = new Map<string, Session>();
  const tokens = new Set<string>();
  const denied = new Set<string>();
  const pair = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  const email = "backups@holdfast-test.iam.example";
  const user = {
    client_id: "a-client",
    client_secret: "its-secret-word",
    refresh_token: "1//renewed",
  };

  const front = await startFront({
    actionOf,
    half: (request) => keepHalf(request),
    perform: (action, request) => {
      try {
        if (action === "Token") return token(request);
        authenticate(request);
        if (denied.has(action)) {
          throw new Refusal(403, "forbidden", `${email} does not have storage access.`);
        }
        return perform(action, request);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return refused(error);
      }
    },
  });
  const tokenUri = `${front.url}/token`;

  function token({ body }: StoreRequest): StoreAnswer {
    const form = new URLSearchParams(body.toString());
    const grant = form.get("grant_type");
    const known =
      grant === "refresh_token"
        ? Object.entries(user).every(([name, value]) => form.get(name) === value)
        : grant === "urn:ietf:params:oauth:grant-type:jwt-bearer" &&
          isStatement(form.get("assertion") ?? "");
    if (!known) {
      const error = { error: "invalid_grant", error_description: "Invalid JWT Signature." };
      return { status: 400, body: JSON.stringify(error) };
    }
    const fresh = `ya29.${randomUUID()}`;
    tokens.add(fresh);
    const answer = { access_token: fresh, expires_in: 3599, token_type: "Bearer" };
    return { status: 200, body: JSON.stringify(answer) };
  }

  function isStatement(assertion: string): boolean {
    const [head = "", claims = "", signature = ""] = assertion.split(".");
    const decoded = (part: string) =>
      JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
    const { alg } = decoded(head);
    const { iss, scope, aud, iat, exp } = decoded(claims);
    const seconds = now() / 1000;
    return (
      alg === "RS256" &&
      iss === email &&
      SCOPES.includes(String(scope)) &&
      aud === tokenUri &&
      Number(exp) - Number(iat) <= 3600 &&
      Math.abs(seconds - Number(iat)) < 300 &&
      verify(
        "sha256",
        Buffer.from(`${head}.${claims}`),
        createPublicKey(pair.publicKey),
        Buffer.from(signature, "base64url"),
      )
    );
  }

  function authenticate({ headers }: StoreRequest): void {
    const [scheme = "", token = ""] = (headers.authorization ?? "").split(" ");
    if (scheme === "Bearer" && tokens.has(token)) return;
    throw new Refusal(401, "authError", `Invalid Credentials ${token}`);
  }

  function perform(action: string, request: StoreRequest): StoreAnswer {
    const { path, query, headers, body } = request;
    if (action.startsWith("Session")) return inSession(action, request);
    const named = decodeURIComponent(/\/b\/([^/]+)\/o/.exec(path)?.[1] ?? "");
    if (named !== bucket)
      throw new Refusal(404, "notFound", "The specified bucket does not exist.");
    const name = decodeURIComponent(/\/o\/([^/]+)$/.exec(path)?.[1] ?? "");
    const found = () => {
      const item = objects.get(name);
      if (item === undefined)
        throw new Refusal(404, "notFound", `No such object: ${bucket}/${name}`);
      return item;
    };
    switch (action) {
      case "BeginUpload": {
        const id = randomUUID();
        const about = JSON.parse(body.toString()) as Session["about"];
        const size = Number(headers["x-upload-content-length"] ?? NaN);
        if (!Number.isSafeInteger(size)) throw new Refusal(400, "badRequest", "no length");
        sessions.set(id, {
          name: query.get("name") ?? "",
          about,
          size,
          bytes: Buffer.alloc(0),
          done: false,
        });
        // The provider names itself, whatever it was called by.
        const location = `https://storage.provider.example${path}?uploadType=resumable&upload_id=${id}`;
        return { status: 200, headers: { location } };
      }
      case "Upload": {
        const key = query.get("name") ?? "";
        const contentType = String(headers["content-type"] ?? "");
        const item = { bytes: body, metadata: {}, contentType };
        objects.set(key, item);
        return json(visible(key, item));
      }
      case "List":
        return json(listing(query));
      case "Get":
        return json(visible(name, found()));
      case "Read":
        return {
          status: 200,
          headers: { "content-type": found().contentType },
          body: found().bytes,
        };
      case "Delete":
        found();
        objects.delete(name);
        return { status: 204 };
      default:
        throw new Refusal(405, "methodNotAllowed", "Method not allowed");
    }
  }

  function inSession(action: string, { query, headers, body }: StoreRequest): StoreAnswer {
    const id = query.get("upload_id") ?? "";
    const session = sessions.get(id);
    if (session === undefined) throw new Refusal(410, "gone", "The upload is no more.");
    if (session.done) {
      const item = objects.get(session.name);
      return item === undefined ? { status: 404 } : json(visible(session.name, item));
    }
    if (action === "SessionCancel") {
      sessions.delete(id);
      return { status: 499 };
    }
    const range = String(headers["content-range"] ?? "");
    const [, from, to, total] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+)$/.exec(range) ?? [];
    if (Number(total) !== session.size) throw new Refusal(400, "badRequest", "Invalid range");
    if (from !== undefined) {
      const length = Number(to) - Number(from) + 1;
      const last = Number(to) + 1 === session.size;
      if (length !== body.length || Number(from) !== session.bytes.length) {
        throw new Refusal(400, "badRequest", "The range is not where the upload stands.");
      }
      if (!last && length % QUARTER !== 0) {
        throw new Refusal(400, "badRequest", "A chunk must be a multiple of 256 KiB.");
      }
      session.bytes = Buffer.concat([session.bytes, body]);
    }
    if (session.bytes.length < session.size) {
      const got = session.bytes.length;
      return { status: 308, headers: got === 0 ? {} : { range: `bytes=0-${got - 1}` } };
    }
    session.done = true;
    const { md5Hash, metadata = {}, contentType = "" } = session.about;
    if (md5Hash !== undefined && md5Hash !== md5(session.bytes)) {
      sessions.delete(id);
      const said = `Provided MD5 hash "${md5Hash}" doesn't match calculated MD5 hash`;
      throw new Refusal(400, "invalid", said);
    }
    const item = { bytes: session.bytes, metadata, contentType };
    objects.set(session.name, item);
    return json(visible(session.name, item));
  }

  /** Of what was cut, whole quarters of a MiB stay. */
  function keepHalf({ query, headers, body }: StoreRequest): void {
    const session = sessions.get(query.get("upload_id") ?? "");
    const from = Number(/^bytes (\d+)-/.exec(String(headers["content-range"] ?? ""))?.[1] ?? -1);
    if (session === undefined || from !== session.bytes.length) return;
    const kept = Math.floor(body.length / QUARTER) * QUARTER;
    session.bytes = Buffer.concat([session.bytes, body.subarray(0, kept)]);
  }

  function listing(query: URLSearchParams): object {
    const prefix = query.get("prefix") ?? "";
    const after = Buffer.from(query.get("pageToken") ?? "", "base64").toString();
    const size = Math.min(page, Number(query.get("maxResults") ?? 1000));
    const names = [...objects.keys()]
      .filter((name) => name.startsWith(prefix) && name > after)
      .sort();
    const items = names.slice(0, size).map((name) => {
      const { bytes } = objects.get(name) ?? { bytes: Buffer.alloc(0) };
      return { name, size: String(bytes.length) };
    });
    if (names.length <= size) return items.length === 0 ? {} : { items };
    return { items, nextPageToken: Buffer.from(names[size - 1] ?? "").toString("base64") };
  }

  function visible(name: string, { bytes, metadata, contentType }: StoredItem): object {
    return { name, bucket, size: String(bytes.length), md5Hash: md5(bytes), metadata, contentType };
  }

  const serviceAccountKey = JSON.stringify({
    type: "service_account",
    project_id: "holdfast-test",
    private_key_id: "0123456789abcdef",
    private_key: pair.privateKey,
    client_email: email,
    token_uri: tokenUri,
  });
  const userFile = JSON.stringify({ type: "authorized_user", ...user, token_uri: tokenUri });
  const parts = { bucket, serviceAccountKey, userFile, objects, sessions, tokens, denied };
  return Object.assign(front, parts);
}

function actionOf({ method, path, query }: StoreRequest): string {
  if (path === "/token") return "Token";
  if (path.startsWith("/upload/")) {
    if (query.has("upload_id")) return method === "DELETE" ? "SessionCancel" : "SessionPut";
    return query.get("uploadType") === "resumable" ? "BeginUpload" : "Upload";
  }
  if (method === "DELETE") return "Delete";
  if (path.endsWith("/o")) return "List";
  return query.get("alt") === "media" ? "Read" : "Get";
}

function json(value: object): StoreAnswer {
  return {
    status: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(value),
  };
}

function refused({ status, reason, message }: Refusal): StoreAnswer {
  const error = { code: status, message, errors: [{ domain: "global", reason, message }] };
  return { ...json({ error }), status };
}

export function gcsError(status: number, reason: string, message: string): StoreAnswer {
  return refused(new Refusal(status, reason, message));
}

function md5(bytes: Buffer): string {
  return createHash("md5").update(bytes).digest("base64");
}
