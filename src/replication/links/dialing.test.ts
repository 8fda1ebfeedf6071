import assert from "node:assert/strict";
import test from "node:test";
import { SystemNet } from "../../system/net.ts";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import { linkTo } from "./dialing.ts";

const MEMBER = { set: "5f3d2c10-0000-4000-8000-0000000000aa", kind: "dr", id: "paris" } as const;

test("T-K10: no cluster is where a platform tells machines who they are, whoever names the address", async () => {
  const world = { ...fakeWorld(), net: new SystemNet() };
  const dial = (address: string) => linkTo(address, MEMBER as never, world);
  for (const address of [
    "https://169.254.169.254:80",
    "169.254.170.2:443",
    "https://[fe80::1]:8201",
    "https://[fd00:ec2::254]:80",
    "no address",
  ]) {
    assert.throws(() => dial(address), { code: "replication-address-unusable" }, address);
  }
  await dial("https://10.1.2.3:8201").close(); // networks of clusters are private
});
