// The authority of a replication set, and what it signs: one certificate for the port, by the name of the set, and one for
// each member, by its id. Addresses are in none of them, so that TCP may be passed on and TLS ends nowhere else.

import type { GeneralNames } from "@peculiar/x509";
import { hex } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import { DAY, MILLISECOND } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos, Random } from "@holdfast/shared/world";
import { loadX509 } from "../base/x509.ts";
import { hostOf, isMemberId, isSetId, type SetName, uriOf } from "./names.ts";
import { weakKey } from "./failures.ts";

const KEY = { name: "ECDSA", namedCurve: "P-521" } as const;
const SIGNING = { name: "ECDSA", namedCurve: "P-521", hash: "SHA-512" } as const;
/** How long a certificate is valid. */
export const CERTIFICATE_LIFE: Nanos = 365n * DAY;
const LIFE = CERTIFICATE_LIFE;
const AUTHORITY_LIFE: Nanos = 30n * LIFE; // it ends with the set, and nothing renews it
/** For members whose clocks are behind. */
const BEFORE: Nanos = DAY;
const SERIAL_BYTES = 16;
/** A public key of this kind has 158 bytes; what is longer is not looked at. */
const MAX_PUBLIC_KEY = 256;

/** With its private key, as PKCS #8; both as DER. */
export interface Authority extends SetName {
  readonly certificate: Uint8Array;
  readonly key: Uint8Array;
}

export interface IssuedCertificate {
  readonly certificate: Uint8Array;
  /** Hexadecimal, as `serialOf` has it. */
  readonly serial: string;
  readonly expires: Instant;
}

export interface IssuedPair extends IssuedCertificate {
  readonly key: Uint8Array;
}

interface IssuingWorld {
  readonly clock: Pick<Clock, "now">;
  readonly random: Random;
}

export async function makeAuthority(of: SetName, world: IssuingWorld): Promise<Authority> {
  invariant(isSetId(of.set), "a set has an id");
  const x509 = await loadX509();
  const { KeyUsageFlags } = x509;
  const keys = await makeKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialFrom(world.random),
    name: authorityName(of),
    keys,
    signingAlgorithm: SIGNING,
    ...validity(world.clock.now(), AUTHORITY_LIFE),
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    set: of.set,
    kind: of.kind,
    certificate: new Uint8Array(certificate.rawData),
    key: await privateBytes(keys.privateKey),
  };
}

/** For the port. */
export async function issueServer(authority: Authority, world: IssuingWorld): Promise<IssuedPair> {
  const keys = await makeKeys();
  const host = hostOf(authority);
  const issued = await issue(authority, world, {
    subject: host,
    publicKey: keys.publicKey,
    usage: "serverAuth",
    names: [{ type: "dns", value: host }],
  });
  return { ...issued, key: await privateBytes(keys.privateKey) };
}

/** For a member that has no key yet. */
export async function issueMember(
  authority: Authority,
  id: string,
  world: IssuingWorld,
): Promise<IssuedPair> {
  const keys = await makeKeys();
  const issued = await issue(authority, world, memberParts(authority, id, keys.publicKey));
  return { ...issued, key: await privateBytes(keys.privateKey) };
}

/** What a member renews its certificate for: the private half as PKCS #8, the public one as SubjectPublicKeyInfo. */
export async function makeMemberKey(): Promise<{
  readonly key: Uint8Array;
  readonly publicKey: Uint8Array;
}> {
  const { privateKey, publicKey } = await makeKeys();
  const spki = new Uint8Array(await crypto.subtle.exportKey("spki", publicKey));
  return { key: await privateBytes(privateKey), publicKey: spki };
}

/** For one that has, and keeps it to itself. `publicKey` comes from outside, as SubjectPublicKeyInfo. */
export async function renewMember(
  authority: Authority,
  id: string,
  publicKey: Uint8Array,
  world: IssuingWorld,
): Promise<IssuedCertificate> {
  const key = await readPublicKey(publicKey);
  if (key === null) throw weakKey();
  return await issue(authority, world, memberParts(authority, id, key));
}

type PublicKey = Awaited<ReturnType<typeof makeKeys>>["publicKey"];

interface Parts {
  readonly subject: string;
  readonly publicKey: PublicKey;
  readonly usage: "serverAuth" | "clientAuth";
  readonly names: ConstructorParameters<typeof GeneralNames>[0];
}

function memberParts({ set, kind }: SetName, id: string, publicKey: PublicKey): Parts {
  invariant(isMemberId(id), "a member has an id");
  const names: Parts["names"] = [{ type: "url", value: uriOf({ set, kind, id }) }];
  return { subject: id, publicKey, usage: "clientAuth", names };
}

async function issue(
  authority: Authority,
  { clock, random }: IssuingWorld,
  { subject, publicKey, usage, names }: Parts,
): Promise<IssuedCertificate> {
  const x509 = await loadX509();
  const signingKey = await crypto.subtle.importKey(
    "pkcs8",
    new Uint8Array(authority.key),
    KEY,
    false,
    ["sign"],
  );
  const parent = new x509.X509Certificate(new Uint8Array(authority.certificate));
  const dates = validity(clock.now(), LIFE);
  const serial = serialFrom(random);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial,
    subject: `CN=${subject}`,
    issuer: authorityName(authority),
    publicKey,
    signingKey,
    signingAlgorithm: SIGNING,
    ...dates,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage[usage]], true),
      new x509.SubjectAlternativeNameExtension(names),
      await x509.AuthorityKeyIdentifierExtension.create(await parent.publicKey.export()),
    ],
  });
  return {
    certificate: new Uint8Array(certificate.rawData),
    serial,
    expires: BigInt(dates.notAfter.getTime()) * MILLISECOND,
  };
}

/** Null where it is not a key of that curve, in its one form and nothing else. */
async function readPublicKey(bytes: Uint8Array): Promise<PublicKey | null> {
  if (bytes.length > MAX_PUBLIC_KEY) return null;
  try {
    const key = await crypto.subtle.importKey("spki", new Uint8Array(bytes), KEY, true, ["verify"]);
    const whole = Buffer.from(await crypto.subtle.exportKey("spki", key));
    return whole.equals(bytes) ? key : null; // it passes over what stands behind
  } catch {
    return null;
  }
}

function authorityName({ set, kind }: SetName): string {
  return `CN=Holdfast ${kind} ${set}`;
}

/** Of whole seconds, as certificates have them. */
function validity(now: Instant, life: Nanos) {
  const seconds = (time: Instant) => Number(time / 1_000_000_000n) * 1000;
  return { notBefore: new Date(seconds(now - BEFORE)), notAfter: new Date(seconds(now + life)) };
}

/** Positive, and with the same number of digits always. */
function serialFrom(random: Random): string {
  const bytes = random.bytes(SERIAL_BYTES);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return hex(bytes);
}

function makeKeys() {
  return crypto.subtle.generateKey(KEY, true, ["sign", "verify"]);
}

async function privateBytes(key: PublicKey): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.exportKey("pkcs8", key));
}
