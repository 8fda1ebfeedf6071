import assert from "node:assert/strict";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import test, { before, describe } from "node:test";
import { DAY, SECOND } from "@holdfast/shared/text/duration";
import { SET, stageWorld } from "../../tests/support/servers/cluster-stage.ts";
import { FakeClock } from "../../tests/support/fake-world.ts";
import { TestAuthority } from "../../tests/support/certificates.ts";
import {
  type Authority,
  issueMember,
  issueServer,
  makeAuthority,
  renewMember,
} from "./authority.ts";
import { loadX509 } from "../base/x509.ts";
import { hostOf, isMemberId, isSetId } from "./names.ts";
import { digestOf, serialOf, verifyMember, verifyServer } from "./verify.ts";

const world = stageWorld();
const now = world.clock.now();
const YEAR = 365n * DAY;
const OTHER_KIND = { ...SET, kind: "performance" } as const;
const OTHER_SET = { ...SET, set: "5f3d2c10-0000-4000-8000-0000000000bb" };

/** As the authority would sign it if it did not look at keys. */
async function weakMember(authority: Authority): Promise<Uint8Array> {
  const x509 = await loadX509();
  const curve = { name: "ECDSA", namedCurve: "P-521", hash: "SHA-512" };
  const weak = { name: "ECDSA", namedCurve: "P-256" };
  const { publicKey } = await crypto.subtle.generateKey(weak, true, ["sign", "verify"]);
  const pkcs8 = new Uint8Array(authority.key);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: "42",
    subject: "CN=paris",
    issuer: `CN=Holdfast dr ${SET.set}`,
    publicKey,
    signingKey: await crypto.subtle.importKey("pkcs8", pkcs8, curve, false, ["sign"]),
    signingAlgorithm: curve,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 60_000),
    extensions: [
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
      new x509.SubjectAlternativeNameExtension([
        { type: "url", value: `holdfast://${SET.set}/dr/paris` },
      ]),
    ],
  });
  return new Uint8Array(certificate.rawData);
}

describe("certificates of a replication set", () => {
  let authority: Authority;
  let other: Authority;
  before(async () => {
    authority = await makeAuthority(SET, world);
    other = await makeAuthority(SET, world); // of the same name
  });

  const read = (der: Uint8Array) => new X509Certificate(der);
  const mismatch = (der: Uint8Array, of: Parameters<typeof verifyMember>[2] = SET, at = now) => {
    const found = verifyMember(read(der), read(authority.certificate), of, at);
    return "mismatch" in found ? found.mismatch : null;
  };

  test("a member's says who it is, to TLS and to us", async () => {
    const issued = await issueMember(authority, "paris-2.eu", world);
    const certificate = read(issued.certificate);
    assert.equal(certificate.subject, "CN=paris-2.eu");
    assert.equal(certificate.subjectAltName, `URI:holdfast://${SET.set}/dr/paris-2.eu`);
    assert.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, "secp521r1");
    assert.deepEqual(verifyMember(certificate, read(authority.certificate), SET, now), {
      ...SET,
      id: "paris-2.eu",
      serial: issued.serial,
      expires: issued.expires,
      digest: digestOf(issued.certificate),
    });
    assert.equal(serialOf(certificate), issued.serial);
    assert.match(issued.serial, /^[4-7][0-9a-f]{31}$/);
    const second = await issueMember(authority, "paris-2.eu", world);
    assert.notEqual(second.serial, issued.serial);
  });

  test("it begins a day ago, ends in a year, and not a second later", async () => {
    const { certificate, expires } = await issueMember(authority, "paris", world);
    assert.ok(expires > now + YEAR - SECOND && expires <= now + YEAR);
    assert.equal(mismatch(certificate, SET, now - DAY + SECOND), null);
    assert.match(mismatch(certificate, SET, now - DAY - SECOND) ?? "", /not valid yet/);
    assert.equal(mismatch(certificate, SET, expires), null);
    assert.match(mismatch(certificate, SET, expires + SECOND) ?? "", /expired/);
  });

  test("what is another's is not taken, each for its own reason", async () => {
    const paris = await issueMember(authority, "paris", world);
    assert.match(mismatch(paris.certificate, OTHER_KIND) ?? "", /another set, kind/);
    assert.match(mismatch(paris.certificate, OTHER_SET) ?? "", /another set, kind/);
    const theirs = await issueMember(other, "paris", world);
    assert.match(mismatch(theirs.certificate) ?? "", /another authority/);
    const forged = await issueMember({ ...authority, key: other.key }, "paris", world);
    assert.match(mismatch(forged.certificate) ?? "", /another authority/, "all but the signature");
    assert.match(mismatch(await weakMember(authority)) ?? "", /key is of another kind/);
    const port = await issueServer(authority, world);
    assert.match(mismatch(port.certificate) ?? "", /another use/);
    assert.match(mismatch(authority.certificate) ?? "", /an authority's/);
    const foreign = await TestAuthority.make(`CN=Holdfast dr ${SET.set}`);
    const { cert } = await foreign.issue("paris");
    assert.match(mismatch(read(Buffer.from(cert) as never).raw) ?? "", /another authority/);
  });

  test("the port's is for the name of its set", async () => {
    const { certificate } = await issueServer(authority, world);
    const wrong = (of: typeof SET | typeof OTHER_KIND | typeof OTHER_SET) =>
      verifyServer(read(certificate), read(authority.certificate), of, now);
    assert.equal(read(certificate).subjectAltName, `DNS:${hostOf(SET)}`);
    assert.equal(wrong(SET), null);
    assert.match(wrong(OTHER_KIND) ?? "", /another set or kind/);
    assert.match(wrong(OTHER_SET) ?? "", /another set or kind/);
    const paris = await issueMember(authority, "paris", world);
    const asPort = verifyServer(read(paris.certificate), read(authority.certificate), SET, now);
    assert.match(asPort ?? "", /another use/);
  });

  test("a member renews its own, with a key that never left it", async () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-521" });
    const spki = publicKey.export({ type: "spki", format: "der" });
    const later = { ...world, clock: new FakeClock(now + YEAR / 2n) };
    const renewed = await renewMember(authority, "paris", spki, later);
    assert.equal(mismatch(renewed.certificate, SET, now + YEAR), null);
    assert.ok(read(renewed.certificate).publicKey.equals(publicKey));
  });

  test("ids that would be something else in a name are none", () => {
    for (const id of ["a", "a-b", "a.b", "A_9", "x".repeat(64)]) assert.ok(isMemberId(id), id);
    for (const id of ["", "-a", "a-", "a/b", "a,CN=b", "a b", "ä", "x".repeat(65), "a\n"]) {
      assert.ok(!isMemberId(id), id);
    }
    assert.ok(isSetId(SET.set));
    for (const id of ["", "a.b", "A", "-a", "a-", "x"]) assert.ok(!isSetId(id), id);
  });
});
