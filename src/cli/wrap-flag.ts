// -wrap-ttl: the server keeps the answer and gives a token that unwraps it, once.

import { flag } from "./flag.ts";

export const WRAP_FLAG = {
  wrapTtl: flag.duration("Keep the answer on the server, for `unwrap` within this time"),
};
