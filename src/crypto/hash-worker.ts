// The program of the thread that hashes for long-hash.ts: bytes in the order in which they come, and an answer to
// each "digest".

import { createHash } from "node:crypto";
import { parentPort } from "node:worker_threads";
import type { HashRequest } from "./long-hash.ts";

let hash = createHash("sha256");

parentPort?.on("message", (request: HashRequest) => {
  if (typeof request !== "string") {
    hash.update(new Uint8Array(request));
    return;
  }
  if (request === "digest") parentPort?.postMessage(hash.digest("hex"));
  hash = createHash("sha256");
});
