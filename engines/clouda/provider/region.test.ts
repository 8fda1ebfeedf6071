import assert from "node:assert/strict";
import test from "node:test";
import { checkRegion, effectiveRegion } from "./region.ts";

test("a region comes from the configuration, two variables, or is the usual one, in this order", () => {
  const of = (stored: string, variables: Record<string, string>) =>
    effectiveRegion(stored, (name) => variables[name] ?? null);
  const both = { CLOUDA_REGION: "eu-west-1", CLOUDA_DEFAULT_REGION: "eu-west-2" };
  assert.equal(of("ap-south-1", both), "ap-south-1");
  assert.equal(of("", both), "eu-west-1");
  assert.equal(of("", { CLOUDA_DEFAULT_REGION: "eu-west-2" }), "eu-west-2");
  assert.equal(of("", {}), "us-east-1");
});

test("T-I01: a region that would steer the host is refused, wherever it comes from", () => {
  const good = ["us-east-1", "us-gov-west-1", "cn-northwest-1", "eu-isoe-west-1", "ap-southeast-5"];
  for (const region of good) assert.equal(checkRegion("region", region), region);
  const bad = [
    "evil.com/x",
    "us-east-1.evil.com#",
    "us-east-1@evil.com",
    "us-east-1\r\nHost: evil.com",
    "us-east-1\n",
    "us-east-1:8080",
    "us-east-1\\",
    "US-EAST-1",
    "us-east",
    "..",
    " us-east-1",
    "us-east-1%2eevil",
  ];
  for (const region of bad) {
    assert.throws(() => checkRegion("region", region), /region must be the name of a region/);
    assert.throws(() => effectiveRegion("", () => region), /CLOUDA_REGION must be/);
  }
});
