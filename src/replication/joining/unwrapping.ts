// Handing a wrapped activation token in at the API of the primary. The call trusts whom the operator says for this one call,
// goes to no address where no cluster is, and believes nothing of the answer that can be checked.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { join } from "node:path";
import { text } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import type { Address, Clock, Fs } from "@holdfast/shared/world";
import { type OutboundAnswer, OutboundError } from "@holdfast/plugin-sdk/outbound";
import type { ReplicationKind } from "../../cluster/names.ts";
import type { PeerCalls, PeerTrust } from "../../outbound/peer-calls.ts";
import { type Activation, readActivation } from "./activation.ts";
import { inWords } from "./plain-words.ts";
import * as failures from "./failures.ts";

const PATH = "/v1/sys/wrapping/unwrap";
const LOOKUP = "/v1/sys/wrapping/lookup";
const API_ADDRESS = "primary_api_addr";
const CREDENTIAL = "X-Service-Token";
const MAX_PEM = 1024 * 1024;
const MAX_FILES = 256;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Whom the call trusts, and as whom it is made; as an operator says it. Empty texts say nothing. */
export interface TrustOptions {
  readonly caFile?: string | undefined;
  /** A directory of certificates. */
  readonly caPath?: string | undefined;
  readonly caPem?: string | undefined;
  readonly clientCertPem?: string | undefined;
  readonly clientKeyPem?: string | undefined;
}

export interface UnwrapRequest {
  readonly jwt: string;
  /** The one in the token; empty where it has none. */
  readonly address: string;
  /** The one that the operator names takes its place. */
  readonly primaryApiAddress?: string | undefined;
  readonly trust: TrustOptions;
  readonly kind: ReplicationKind;
  readonly signal: AbortSignal;
}

export interface UnwrappingWorld {
  readonly calls: PeerCalls;
  readonly clock: Pick<Clock, "now">;
  readonly fs: Pick<Fs, "read" | "list">;
}

/** Uses the token up. */
export async function unwrapAt(
  request: UnwrapRequest,
  { calls, clock, fs }: UnwrappingWorld,
): Promise<Activation> {
  const data = await postedAt(PATH, request, { calls, fs });
  return readActivation(data, request.kind, { now: clock.now() });
}

/** Throws where `unwrapAt` would for want of an answer or of a good token. It is as good afterwards as before. */
export async function lookAt(
  request: UnwrapRequest,
  world: Pick<UnwrappingWorld, "calls" | "fs">,
): Promise<void> {
  await postedAt(LOOKUP, request, world);
}

/** Where the API of the primary is. */
export function apiAddressOf({
  address,
  primaryApiAddress = "",
}: Pick<UnwrapRequest, "address" | "primaryApiAddress">): string {
  return primaryApiAddress === "" ? address : primaryApiAddress;
}

async function postedAt(
  path: string,
  request: UnwrapRequest,
  { calls, fs }: Pick<UnwrappingWorld, "calls" | "fs">,
): Promise<JsonObject> {
  const { jwt, signal } = request;
  const trust = readTrust(request.trust, fs);
  const named = apiAddressOf(request);
  if (named === "") throw failures.addressMissing();
  const headers = { [CREDENTIAL]: jwt, Accept: "application/json" };
  const post = { method: "POST", path, headers, signal };
  return dataIn(await sent(() => calls.send(API_ADDRESS, named, post, trust)));
}

/** What the address of a cluster port stands for; refused where no cluster is. */
export async function locatePrimary(
  calls: Pick<PeerCalls, "locate">,
  field: string,
  address: string,
  signal: AbortSignal,
): Promise<readonly Address[]> {
  try {
    return await calls.locate(field, address, signal);
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    if (error.trouble === "forbidden") throw failures.addressForbidden(field, error.message);
    throw failures.primaryUnreachable(inWords(error.message));
  }
}

async function sent(send: () => Promise<OutboundAnswer>): Promise<OutboundAnswer> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    if (error.trouble === "forbidden") throw failures.addressForbidden(API_ADDRESS, error.message);
    throw failures.primaryUnreachable(inWords(error.message)); // it names the host alone
  }
}

function dataIn({ status, body }: OutboundAnswer): JsonObject {
  // 400 and 403 are what a token gets that was used, has ended, or is another cluster's.
  if (status === 400 || status === 403) throw failures.tokenRefused();
  if (status !== 200) throw failures.primaryAnswers(status);
  try {
    const answer: unknown = JSON.parse(text(body));
    if (isObject(answer) && isObject(answer["data"])) return answer["data"];
  } catch {
    // As below.
  } finally {
    body.fill(0);
  }
  throw failures.primaryAnswers(status);
}

// --- trust ---

/** One text for whatever is wrong with a file: it does not tell what lies where. */
export function readTrust(options: TrustOptions, fs: UnwrappingWorld["fs"]): PeerTrust {
  const { caFile = "", caPath = "", caPem = "", clientCertPem = "", clientKeyPem = "" } = options;
  const authorities = [
    ...(caFile === "" ? [] : certificatesIn("ca_file", fileText(fs, "ca_file", caFile))),
    ...(caPath === "" ? [] : certificatesBelow(fs, caPath)),
    ...(caPem === "" ? [] : certificatesIn("ca_pem", caPem)),
  ];
  const identity = identityOf(clientCertPem, clientKeyPem);
  return {
    ...(authorities.length === 0 ? {} : { authorities }),
    ...(identity === null ? {} : { identity }),
  };
}

function certificatesBelow(fs: UnwrappingWorld["fs"], directory: string): string[] {
  let names: string[];
  if (directory.includes("\0")) throw failures.trustUnreadable("ca_path"); // no name of a file
  try {
    names = fs.list(directory);
  } catch (error) {
    if (error instanceof Failure) throw failures.trustUnreadable("ca_path");
    throw error;
  }
  if (names.length > MAX_FILES) throw failures.trustUnreadable("ca_path");
  const found = names
    .filter((name) => /\.(?:pem|crt|cer)$/.test(name))
    .flatMap((name) => certificatesIn("ca_path", fileText(fs, "ca_path", join(directory, name))));
  if (found.length === 0) throw failures.trustUnreadable("ca_path");
  return found;
}

function fileText(fs: UnwrappingWorld["fs"], field: string, path: string): string {
  if (path.includes("\0")) throw failures.trustUnreadable(field); // no name of a file
  try {
    const bytes = fs.read(path, MAX_PEM);
    if (bytes !== null) return text(bytes);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  throw failures.trustUnreadable(field);
}

function certificatesIn(field: string, pem: string): string[] {
  const found = pem.length <= MAX_PEM ? (pem.match(CERTIFICATE) ?? []) : [];
  if (found.length === 0 || !found.every(isCertificate)) throw failures.trustUnreadable(field);
  return found;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

function identityOf(certificate: string, key: string): NonNullable<PeerTrust["identity"]> | null {
  if (certificate === "" && key === "") return null;
  if (certificate === "" || key === "" || certificate.length + key.length > MAX_PEM) {
    throw failures.identityUnreadable();
  }
  try {
    const fits = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
    if (fits) return { certificate, key };
  } catch {
    // As below.
  }
  throw failures.identityUnreadable();
}
