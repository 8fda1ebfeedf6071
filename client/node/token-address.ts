// Which server the token in the token file is for, in a file beside it. A token is good for whoever holds
// it: one that is sent to the wrong address, in plain HTTP even, is given away. A hash says which token is
// meant, so that one that was written there by hand is not taken for another.

import { createHash } from "node:crypto";
import { text } from "@holdfast/shared/bytes";
import type { Secret } from "@holdfast/shared/secret";
import type { Fs } from "@holdfast/shared/world";
import { ownBytes } from "../utf8.ts";
import { parseServerAddress, type ServerAddress } from "../server-address.ts";
import type { OwnFiles } from "./token-file.ts";

const MAX_BYTES = 64 * 1024;
const MAX_ADDRESSES = 16;

/** Adds to what is known of this token; what was known of another is forgotten. */
export function rememberAddresses(
  fs: Fs,
  tokenFile: string,
  token: Secret<string>,
  addresses: readonly string[],
): void {
  const before = addressesOf(fs, tokenFile, token) ?? [];
  const all = [...new Set([...addresses, ...before])].slice(0, MAX_ADDRESSES);
  fs.replace(besides(tokenFile), ownBytes(`${[digest(token), ...all].join("\n")}\n`));
}

/** Null where nobody said whom this token is for. */
export function addressesOf(
  fs: OwnFiles,
  tokenFile: string,
  token: Secret<string>,
): readonly string[] | null {
  const bytes = fs.read(besides(tokenFile), MAX_BYTES);
  const [mark, ...addresses] = bytes === null ? [] : text(bytes).trim().split("\n");
  return mark === digest(token) && addresses.length > 0 ? addresses : null;
}

/** `from` is where the address was told: one that is meant for another tool gets no token that is not known
 *  to be for it. */
export function mayBeSent(
  known: readonly string[] | null,
  address: ServerAddress,
  from: string,
): boolean {
  if (known === null) return !/^(?!HOLDFAST)[A-Z]+_ADDR$/.test(from);
  return known.some((one) => sameServer(one, address));
}

export function forgetAddresses(fs: Fs, tokenFile: string): void {
  fs.remove(besides(tokenFile));
}

/** The names of the loopback interface are one, and a server on all interfaces is on it; everything else is compared as it is written. */
function sameServer(known: string, address: ServerAddress): boolean {
  return canonical(parseServerAddress(known)) === canonical(address);
}

function canonical({ secure, host, port, socketPath, base }: ServerAddress): string {
  const place = /^(?:localhost|::1|0\.0\.0\.0|::)$/.test(host) ? "127.0.0.1" : host;
  return JSON.stringify(socketPath ?? [secure, place, port, base]);
}

function besides(tokenFile: string): string {
  return `${tokenFile}-for`;
}

function digest(token: Secret<string>): string {
  return createHash("sha256").update(token.reveal()).digest("hex");
}
