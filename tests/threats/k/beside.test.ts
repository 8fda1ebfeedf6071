// Section K between members of a set that do not serve it: TLS knows no such use of their certificates, so that whoever dials looks
// at all of the other side's by itself.

import assert from "node:assert/strict";
import test from "node:test";
import { DAY } from "@holdfast/shared/text/duration";
import type { Random } from "@holdfast/shared/world";
import {
  type IssuedPair,
  issueMember,
  issueServer,
  makeAuthority,
} from "../../../src/cluster/authority.ts";
import { CarriedLink } from "../../../src/cluster/peer-link.ts";
import { TlsCarrier } from "../../../src/cluster/tls-carrier.ts";
import { serviceTable } from "@holdfast/shared/grpc/method";
import { digestOf } from "../../../src/cluster/verify.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { FakeClock } from "../../support/fake-world.ts";
import { ClusterStage, SELF, SET } from "../../support/servers/cluster-stage.ts";

/** Whose next serial is this one. */
function drawing(serial: string): Random {
  const random = new SystemRandom();
  random.bytes = () => Buffer.from(serial, "hex");
  return random;
}

const BESIDE = { ...SET, beside: true } as const;

test("T-K03: a member that dials another takes nothing but a certificate of a member of its own set", async (t) => {
  const stage = await ClusterStage.start();
  t.after(() => stage.close());
  const { world, authority, port, address } = stage;
  const rome = await stage.member("rome");
  const paris = await stage.member("paris");
  const serials = [paris.serial];
  const dial = async (
    served: Pick<IssuedPair, "certificate" | "key">,
    meant: readonly string[] = serials,
    digests: readonly string[] = [],
  ): Promise<boolean> => {
    port.serve({
      ...BESIDE,
      authority: authority.certificate,
      certificate: served.certificate,
      key: served.key,
      table: serviceTable([]),
      greet: (hello, peer) => stage.greet(hello, peer),
      revoked: [],
    });
    const { certificate, key } = rome;
    const trusted = { authority: authority.certificate, certificate, key };
    const own = { ...BESIDE, serials: meant, digests, ...trusted };
    const link = new CarriedLink(new TlsCarrier(world, address, own), { ...SET, id: "rome" });
    try {
      await link.open(SELF);
      return true;
    } catch {
      return false;
    } finally {
      await link.close();
    }
  };
  assert.ok(await dial(paris), "the harness");
  assert.equal(await dial(paris, []), false, "nobody was meant");
  const known = [digestOf(paris.certificate)];
  assert.ok(await dial(paris, serials, known));
  const twin = await issueMember(authority, "paris", { ...world, random: drawing(paris.serial) });
  assert.equal(twin.serial, paris.serial);
  assert.equal(await dial(twin, serials, known), false, "who signs chooses the serial");
  const late = { ...world, clock: new FakeClock(world.clock.now() - 366n * DAY) };
  const impostors = {
    "one that was revoked, by our authority": await stage.member("oslo"),
    "one of before, of the same member": await stage.member("paris"),
    "of another authority of that name": await issueMember(
      await makeAuthority(SET, world),
      "paris",
      world,
    ),
    "of the other kind, by our authority": await issueMember(
      { ...authority, kind: "performance" },
      "paris",
      world,
    ),
    "the port's own": stage.server,
    "a second one of a port": await issueServer(authority, world),
    "the authority's": authority,
    "one that has expired": await issueMember(authority, "paris", late),
  };
  for (const [name, served] of Object.entries(impostors)) {
    assert.equal(await dial(served), false, name);
  }
});
