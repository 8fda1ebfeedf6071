import assert from "node:assert/strict";
import test from "node:test";
import { clientOf } from "./client-address.ts";

const same: readonly [string, string][] = [
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["::ffff:c000:207", "192.0.2.7"],
  ["0:0:0:0:0:ffff:c000:0207", "192.0.2.7"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:DB8:0:0:ffff::9", "2001:db8:0:0::/64"],
  ["2001:db8:0:0:1:2:3:4", "2001:db8:0:0::/64"],
  ["2001:db8:0:1::1", "2001:db8:0:1::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["", ""],
  ["not:an:address", "not:an:address"],
  ["1::2::3", "1::2::3"],
  ["1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8:9"],
];
for (const [address, client] of same) {
  test(`T-N14: ${address === "" ? "no address" : address} counts as ${client === "" ? "one client" : client}`, () => {
    assert.equal(clientOf(address), client);
  });
}
