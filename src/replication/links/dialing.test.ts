import assert from "node:assert/strict";
import test from "node:test";
import { networkFailed } from "@holdfast/shared/failures";
import type { Address } from "@holdfast/shared/world";
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
    "https://[::ffff:169.254.169.254]:80",
    "https://[64:ff9b::a9fe:a9fe]:80",
    "no address",
  ]) {
    assert.throws(() => dial(address), { code: "replication-address-unusable" }, address);
  }
  await dial("https://10.1.2.3:8201").close(); // networks of clusters are private
});

test("T-K10: a name is judged by what it stands for when it is connected to, each time", async () => {
  const answers = [["10.1.2.3", "169.254.169.254"], ["fd00:ec2::254"], ["10.1.2.3"]];
  const dialled: Address[] = [];
  const net = {
    connect: async (to: Address) => {
      dialled.push(to);
      throw networkFailed("nobody is there");
    },
    listen: () => Promise.reject(new Error("nobody listens here")),
  };
  const world = { ...fakeWorld(), net, resolve: async () => answers.shift() ?? [] };
  const self = { clusterId: "0b8e2f3e-0000-4000-8000-000000000001", version: "0.1.0" };
  const link = linkTo("https://clusters.example:8201", MEMBER as never, world);
  for (let i = 0; i < 2; i++) {
    await assert.rejects(link.open(self), { code: "replication-address-unusable" });
  }
  assert.deepEqual(dialled, [], "nothing of a name is called where a part of it is refused");
  await assert.rejects(link.open(self), { code: "network-failed" });
  assert.deepEqual(dialled, [{ host: "10.1.2.3", port: 8201 }]);
  await link.close();
});
