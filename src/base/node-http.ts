// Node's HTTP, without what a plain import of it brings: an import reads every name that it exports, and
// some of them load the runtime's whole fetch (70 ms and 15 MB at the start) which nothing here uses.

export const {
  Agent,
  createServer,
  request,
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
} = process.getBuiltinModule("node:http");
