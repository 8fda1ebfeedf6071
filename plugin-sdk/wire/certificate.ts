// The certificate that each side of a plugin's connections makes for itself and the other trusts: written out, since a
// library that can do more would cost every plugin most of its start. What was made is read again before it is used.

import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from "node:crypto";
import { concat } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import { DAY, SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { Clock, Instant, Random } from "@holdfast/shared/world";
import { AUTHORITY } from "./limits.ts";

export interface OneTimeCertificate {
  readonly certificate: Buffer; // DER
  readonly certificatePem: string;
  readonly keyPem: string;
}

const BEFORE = 30n * SECOND;
const LIFE = 30n * 365n * DAY;
const SERIAL_BYTES = 16;

const INTEGER = 0x02;
const BITS = 0x03;
const OCTETS = 0x04;
const OBJECT = 0x06;
const UTF8 = 0x0c;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const SEQUENCE = 0x30;
const SET = 0x31;
const TRUE = Buffer.from([0x01, 0x01, 0xff]);
const DNS_NAME = 0x82;

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = concat(...parts);
  const { length } = body;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return concat(Buffer.from([tag, ...size]), body);
}

const hexed = (tag: number, hex: string) => der(tag, Buffer.from(hex, "hex"));
const ECDSA_SHA256 = der(SEQUENCE, hexed(OBJECT, "2a8648ce3d040302"));
const COMMON_NAME = hexed(OBJECT, "550403");
const name = (text: string) =>
  der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8, Buffer.from(text)))));
/** Until 2049 in two digits of a year, as the format wants it. */
function time(at: Instant): Buffer {
  const digits = showTime(at - (at % SECOND)).replaceAll(/[-:T]/g, "");
  const isShort = digits < "2050";
  return der(isShort ? UTC_TIME : GENERALIZED_TIME, Buffer.from(digits.slice(isShort ? 2 : 0)));
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return der(SEQUENCE, hexed(OBJECT, id), ...(critical ? [TRUE] : []), der(OCTETS, value));
}

const EXTENSIONS = der(
  0xa3,
  der(
    SEQUENCE,
    // An authority, for itself: it signs digitally, for agreed and transported keys, and certificates.
    extension("551d0f", true, hexed(BITS, "02ac")),
    // Of a server (…1) and of a client (…2).
    extension(
      "551d25",
      false,
      der(SEQUENCE, hexed(OBJECT, "2b06010505070302"), hexed(OBJECT, "2b06010505070301")),
    ),
    extension("551d13", true, der(SEQUENCE, TRUE)),
    extension("551d11", false, der(SEQUENCE, der(DNS_NAME, Buffer.from(AUTHORITY)))),
  ),
);

export function makeCertificate({
  clock,
  random,
}: {
  readonly clock: Pick<Clock, "now">;
  readonly random: Pick<Random, "bytes">;
}): OneTimeCertificate {
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const now = clock.now();
  const serial = random.bytes(SERIAL_BYTES);
  serial[0] = (serial[0]! & 0x7f) | 0x40; // above zero, and of that length
  const toSign = der(
    SEQUENCE,
    der(0xa0, hexed(INTEGER, "02")),
    der(INTEGER, serial),
    ECDSA_SHA256,
    name(AUTHORITY),
    der(SEQUENCE, time(now - BEFORE), time(now + LIFE)),
    name(AUTHORITY),
    keys.publicKey.export({ type: "spki", format: "der" }),
    EXTENSIONS,
  );
  const signature = sign("sha256", toSign, keys.privateKey);
  const certificate = der(SEQUENCE, toSign, ECDSA_SHA256, der(BITS, Buffer.alloc(1), signature));
  check(certificate, keys.privateKey);
  return {
    certificate,
    certificatePem: pemOf(certificate),
    keyPem: String(keys.privateKey.export({ type: "sec1", format: "pem" })),
  };
}

function check(certificate: Buffer, key: KeyObject): void {
  const read = new X509Certificate(certificate);
  const isGood =
    read.ca &&
    read.checkHost(AUTHORITY) === AUTHORITY &&
    read.checkPrivateKey(key) &&
    read.verify(read.publicKey);
  invariant(isGood, "a certificate is what it was made to be");
}

export function pemOf(certificate: Uint8Array): string {
  const lines =
    Buffer.from(certificate)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

/** Of the other side, as it came: one certificate, or null. */
export function readCertificatePem(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}
