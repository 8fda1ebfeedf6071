// The digest of rows that go along in clear: what was signed for, and what is compared with it.

import { createHash } from "node:crypto";
import { utf8 } from "@holdfast/shared/bytes";

/** Over rows in the order of their keys; lengths stand in front, so that no two sets give the same. */
export class RowsDigest {
  readonly #hash = createHash("sha256");

  add(key: string, value: Uint8Array): void {
    const name = utf8(key);
    this.#hash.update(`${name.length} ${value.length} `).update(name).update(value);
  }

  end(): string {
    return this.#hash.digest("hex");
  }
}
