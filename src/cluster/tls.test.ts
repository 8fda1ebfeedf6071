import assert from "node:assert/strict";
import test from "node:test";
import { withCredentials } from "./tls.ts";

test("a certificate or key of any length becomes text in which no line is empty", () => {
  for (let length = 1; length <= 200; length++) {
    const bytes = Buffer.alloc(length, length);
    const credentials = { authority: bytes, certificate: bytes, key: bytes };
    const texts = withCredentials(credentials, ({ ca, cert, key }) => [ca, cert, key].map(String));
    for (const text of texts) {
      assert.match(
        text,
        /^-----BEGIN [A-Z ]+-----\n(?:[\w+/]{64}\n)*[\w+/]{1,64}=*\n-----END [A-Z ]+-----\n$/,
      );
      const base64 = text.replaceAll(/-----.*?-----|\n/g, "");
      assert.deepEqual(Buffer.from(base64, "base64"), bytes, `${length} bytes`);
    }
  }
});
