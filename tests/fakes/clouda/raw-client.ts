// Signs and sends requests by hand, from the description of the signature: the other side of what the
// fake checks. Tests of the fake use it so that no SDK smooths over what is wrong.

import { createHash, createHmac } from "node:crypto";
import { call } from "../../support/http-client.ts";

export interface RawKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface RawAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Of a refusal; "" otherwise. */
  readonly code: string;
}

export interface SigningOptions {
  readonly region?: string;
  readonly service?: string;
  readonly at?: number;
  /** Done to the body after it was signed. */
  readonly tamper?: (body: string) => string;
}

const IAM = { service: "iam", version: "2010-05-08" };
const STS = { service: "sts", version: "2011-06-15" };
const STS_ACTIONS =
  /^(AssumeRole|AssumeRoleWithWebIdentity|GetFederationToken|GetCallerIdentity|GetSessionToken)$/;

export class RawClient {
  readonly #url: string;
  readonly keys: RawKeys;
  readonly #options: SigningOptions;

  constructor(url: string, keys: RawKeys, options: SigningOptions = {}) {
    this.#url = url;
    this.keys = keys;
    this.#options = options;
  }

  as(keys: RawKeys, options: SigningOptions = {}): RawClient {
    return new RawClient(this.#url, keys, options);
  }

  async send(action: string, fields: Readonly<Record<string, string>> = {}): Promise<RawAnswer> {
    const { service, version } = STS_ACTIONS.test(action) ? STS : IAM;
    const body = new URLSearchParams({ Action: action, Version: version, ...fields }).toString();
    const { region = "us-east-1", at = Date.now(), tamper } = this.#options;
    const stamp = new Date(at).toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
    const { host } = new URL(this.#url);
    const token = this.keys.sessionToken;
    const headers: Record<string, string> = {
      "content-type": "application/x-www-form-urlencoded; charset=utf-8",
      host,
      "x-amz-date": stamp,
      ...(token === undefined ? {} : { "x-amz-security-token": token }),
    };
    const scope = [stamp.slice(0, 8), region, this.#options.service ?? service, "aws4_request"];
    const names = Object.keys(headers).sort();
    const request = [
      "POST",
      "/",
      "",
      ...names.map((name) => `${name}:${headers[name] ?? ""}`),
      "",
      names.join(";"),
      sha256(body),
    ].join("\n");
    const text = ["AWS4-HMAC-SHA256", stamp, scope.join("/"), sha256(request)].join("\n");
    let key: string | Buffer = `AWS4${this.keys.secretAccessKey}`;
    for (const part of [...scope, text]) key = hmac(key, part);
    const credential = `${this.keys.accessKeyId}/${scope.join("/")}`;
    const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(";")}, Signature=${key.toString("hex")}`;
    const sent = tamper?.(body) ?? body;
    const { "content-type": type = "", ...rest } = headers;
    const answer = await call(this.#url, "POST", "/", {
      body: sent,
      headers: { ...rest, "Content-Type": type, authorization },
    });
    const code = /<Code>([^<]*)<\/Code>/.exec(answer.text)?.[1] ?? "";
    return { status: answer.status, text: answer.text, headers: answer.headers, code };
  }
}

/** The text of the first element of this name; "" where there is none. */
export function textOf({ text }: RawAnswer, name: string): string {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1] ?? "";
}

export function textsOf({ text }: RawAnswer, name: string): string[] {
  return [...text.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"))].map(
    ([, value = ""]) => value,
  );
}

/** The credentials in an answer. */
export function keysIn(answer: RawAnswer): RawKeys {
  const token = textOf(answer, "SessionToken");
  return {
    accessKeyId: textOf(answer, "AccessKeyId"),
    secretAccessKey: textOf(answer, "SecretAccessKey"),
    ...(token === "" ? {} : { sessionToken: token }),
  };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
