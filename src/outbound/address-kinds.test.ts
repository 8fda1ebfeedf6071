import assert from "node:assert/strict";
import { BlockList } from "node:net";
import test from "node:test";
import fc from "fast-check";
import { type AddressKind, insideOf, placeOf } from "./address-kinds.ts";

const KINDS: Readonly<Record<AddressKind, readonly string[]>> = {
  public: ["1.1.1.1", "93.184.216.34", "172.15.0.1", "172.32.0.1", "100.128.0.1", "2606:4700::1"],
  private: ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "198.19.0.1"],
  loopback: ["127.0.0.1", "127.255.0.9", "::1"],
  metadata: ["169.254.169.254", "169.254.170.2", "168.63.129.16", "192.0.0.192", "fe80::1"],
  translated: ["64:ff9b::1.2.3.4", "64:ff9b:1::1", "2002:102:304::", "2001::1"],
  unusable: ["0.0.0.0", "0.1.2.3", "192.0.0.1", "192.0.2.1", "224.0.0.1", "255.255.255.255"],
};
const MORE: Readonly<Partial<Record<AddressKind, readonly string[]>>> = {
  private: ["fc00::1", "fd12::1", "fec0::1"],
  metadata: ["fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"],
  unusable: [
    "::",
    "::2",
    "::1.2.3.4",
    "::ffff:1.2.3.4",
    "ff02::1",
    "2001:db8::1",
    "100::1",
    "4000::1",
  ],
};

test("every address is of one kind", () => {
  for (const [kind, addresses] of [...Object.entries(KINDS), ...Object.entries(MORE)]) {
    for (const address of addresses) assert.equal(placeOf(address)?.kind, kind, address);
  }
  for (const text of ["", "name", "1.2.3", "01.2.3.4"]) assert.equal(placeOf(text), null, text);
});

test("what is translated is known by the address inside, where it has a place of its own", () => {
  const inside = (text: string) => {
    const placed = placeOf(text);
    return placed === null ? undefined : insideOf(placed);
  };
  assert.equal(inside("64:ff9b::7f00:1"), "127.0.0.1");
  assert.equal(inside("2002:a9fe:a9fe::9"), "169.254.169.254");
  assert.equal(inside("64:ff9b:1::1"), null);
});

test("no address of a private network is public, by the runtime's own reckoning", () => {
  const inner = new BlockList();
  const networks: [string, number][] = [
    ["10.0.0.0", 8],
    ["172.16.0.0", 12],
    ["192.168.0.0", 16],
  ];
  networks.push(
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["100.64.0.0", 10],
    ["0.0.0.0", 8],
    ["224.0.0.0", 3],
  );
  for (const [network, length] of networks) inner.addSubnet(network, length, "ipv4");
  const first = fc.constantFrom(0, 8, 9, 10, 11, 100, 126, 127, 128, 169, 172, 192, 223, 224, 255);
  const byte = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(first, byte, byte, byte, (...four) => {
      const address = four.join(".");
      if (inner.check(address, "ipv4")) assert.notEqual(placeOf(address)?.kind, "public", address);
    }),
  );
});
